import { existsSync } from "node:fs";

import { expect } from "chai";

import type { Settlement } from "../../src/settlement/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { sample } from "../helpers/sample.js";
import {
  killAt,
  openLanes,
  requestsOfSettlement,
  runCases,
} from "../helpers/settlement-lane.js";
import type { Kill, SettlementLane } from "../helpers/settlement-lane.js";
import { devKey } from "../helpers/world.js";
import { SENDS } from "../helpers/settlement-stage.js";

/** Killed settlements run side by side, each with a vault of its own. */
const LANES = 3;

for (const mode of ["local keys", "remote accounts"] as const) {
  describe(`a settlement that is killed, and --resume: ${mode}`, function () {
    let node: ServerProcess;
    let project: FixtureProject;
    let lanes: readonly SettlementLane[] = [];

    before(async () => {
      node = await startAnvil();
      project = await useFixtureProject("plain");
      const isLocal = mode === "local keys";
      lanes = await openLanes(LANES, isLocal ? [] : ["eth_signTransaction"], {
        node: node.url,
        projectRoot: project.path,
        settings: isLocal ? {} : { accounts: "remote" },
      });
    });
    after(async () => {
      await Promise.all(lanes.map(async (lane) => await lane.close()));
      await node.stop();
      await project.remove();
    });

    it("settle settles once whenever it is killed and resumed", async () => {
      const all = await stages(lanes[0]);
      // Up to the nonce, both ways of signing are one.
      const kills = sample(
        mode === "local keys"
          ? all
          : all.slice(
              all.findIndex(
                ({ method }) => method === "eth_getTransactionCount",
              ),
            ),
        4,
      );
      await runCases("kills", lanes, kills, checkKill);
    });

    async function checkKill(
      lane: SettlementLane,
      kill: Kill,
      index: number,
    ): Promise<void> {
      const countBefore = await lane.world.settlementCount();

      const stderr = await settleAndKill(lane, index, kill);

      // Also where it is finished: what it still asked was for its report.
      const wasJournalled = isJournalled(lane);
      const resumed = await lane.vault.settleAll({
        pollingInterval: 20,
        resume: true,
      });
      if (resumed.code === "VAULT_SETTLEMENT_LOST") {
        // Without signed bytes, what never left is settled again.
        expect(mode).to.equal("remote accounts");
        expect(await settle(lane)).to.include({ status: "settled" });
      } else if (wasJournalled) {
        expect(resumed.status, resumed.reason ?? "").to.be.oneOf([
          "settled",
          "nothing-to-do",
        ]);
        // What was printed before the end is the hash of what was settled.
        const printed = /Transaction (0x[0-9a-f]{64})/u.exec(stderr)?.[1];
        expect(printed ?? resumed.hash).to.equal(resumed.hash);
      } else {
        // Nothing was sent, and nothing is in the way of another try.
        expect(resumed).to.include({ status: "refused", hash: null });
        expect(await settle(lane)).to.include({ status: "settled" });
      }
      expect(await lane.world.settlers(countBefore)).to.deep.equal([
        lane.settler,
      ]);
    }

    /** @returns What it had printed on stderr by then. */
    async function settleAndKill(
      lane: SettlementLane,
      index: number,
      kill: Kill,
    ): Promise<string> {
      const child = startHardhat(
        ["vault", "settle", "--yes", "--json", "--network", "test"],
        {
          cwd: project.path,
          env: {
            TEST_URL: lane.server.url,
            TEST_VAULT: JSON.stringify({ contracts: lane.world.contracts }),
            TEST_NETWORK: JSON.stringify({
              accounts: mode === "local keys" ? [devKey(index)] : "remote",
              from: lane.settler,
            }),
          },
        },
      );
      return await killAt(kill, child, lane.server);
    }
  });
}

/** Every request of a settlement, and both sides of the one that sends. */
async function stages(lane: SettlementLane | undefined): Promise<Kill[]> {
  return (await requestsOfSettlement(lane)).flatMap((key): Kill[] => [
    { ...key, moment: "before" },
    ...(SENDS.includes(key.method)
      ? [{ ...key, moment: "after" } as const]
      : []),
  ]);
}

async function settle({ vault, settler }: SettlementLane): Promise<Settlement> {
  return await vault.settleAll({ from: settler, pollingInterval: 20 });
}

function isJournalled({ journal, finishedJournal }: SettlementLane): boolean {
  return existsSync(journal) || existsSync(finishedJournal);
}

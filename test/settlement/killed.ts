import { once } from "node:events";
import { existsSync } from "node:fs";

import { expect } from "chai";

import type { Settlement } from "../../src/settlement/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { sample } from "../helpers/sample.js";
import { openLane, runCases, startCase } from "../helpers/settlement-lane.js";
import type { SettlementLane } from "../helpers/settlement-lane.js";
import { devKey } from "../helpers/world.js";
import { keysOf } from "../helpers/faulty-rpc-server.js";
import type { RequestKey } from "../helpers/faulty-rpc-server.js";
import { SENDS } from "../helpers/settlement-stage.js";

/** Killed settlements run side by side, each with a vault of its own. */
const LANES = 3;

/** When it is killed: before the node gets a request, or when it has it. */
type Moment = "before the request arrives" | "after the request arrived";

interface Kill extends RequestKey {
  readonly moment: Moment;
}

for (const mode of ["local keys", "remote accounts"] as const) {
  describe(`a settlement that is killed, and --resume: ${mode}`, function () {
    let node: ServerProcess;
    let project: FixtureProject;
    let lanes: readonly SettlementLane[] = [];

    before(async () => {
      node = await startAnvil();
      project = await useFixtureProject("plain");
      lanes = await Promise.all(
        Array.from({ length: LANES }, async (_, index) => {
          const lane = await openLane({
            node: node.url,
            projectRoot: project.path,
            settlerIndex: index,
            otherIndex: LANES + index,
            settings: mode === "local keys" ? {} : { accounts: "remote" },
          });
          if (mode === "remote accounts") {
            lane.server.hide("eth_signTransaction");
          }
          return lane;
        }),
      );
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
      { moment, ...key }: Kill,
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
      let stderr = "";
      child.stderr?.on("data", (text: Buffer) => {
        stderr += text.toString();
      });
      const killed = once(child, "close");
      const die = async (): Promise<void> => {
        child.kill("SIGKILL");
        await killed;
      };
      if (moment === "before the request arrives") {
        lane.server.before(key, die);
        lane.server.inject({ ...key, kind: "drop before forwarding" });
      } else {
        lane.server.afterwards(key, die);
      }
      await killed;
      await lane.server.idle();
      expect(child.signalCode, stderr).to.equal("SIGKILL");
      return stderr;
    }
  });
}

/** Every request of a settlement, and both sides of the one that sends. */
async function stages(lane: SettlementLane | undefined): Promise<Kill[]> {
  if (lane === undefined) {
    throw new Error("there is a lane");
  }
  await startCase(lane);
  // Unhurried, as the command is: a request that comes only now and then is no
  // moment to kill it at.
  expect(await settle(lane, 1_000)).to.include({ status: "settled" });
  return keysOf(lane.server).flatMap((key): Kill[] => [
    { ...key, moment: "before the request arrives" },
    ...(SENDS.includes(key.method)
      ? [{ ...key, moment: "after the request arrived" } as const]
      : []),
  ]);
}

async function settle(
  { vault, settler }: SettlementLane,
  pollingInterval = 20,
): Promise<Settlement> {
  return await vault.settleAll({ from: settler, pollingInterval });
}

function isJournalled({ journal, finishedJournal }: SettlementLane): boolean {
  return existsSync(journal) || existsSync(finishedJournal);
}

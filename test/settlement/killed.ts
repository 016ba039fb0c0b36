import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";

import { expect } from "chai";

import type { Settlement } from "../../src/settlement/options.js";
import { startHardhat } from "../helpers/cli.js";
import { isFull } from "../helpers/sample.js";
import {
  startKeepers,
  requestsOfSettlement,
  runCases,
} from "../helpers/keeper-on-node.js";
import type { KeeperOnNode } from "../helpers/keeper-on-node.js";
import type {
  FaultyRpcServer,
  RequestKey,
} from "../helpers/faulty-rpc-server.js";
import { devKey } from "../helpers/world.js";
import { SENDS } from "../helpers/keeper.js";

const KEEPERS = 3;

for (const mode of ["local keys", "remote accounts"] as const) {
  describe(`a settlement that is killed, and --resume: ${mode}`, function () {
    const isLocal = mode === "local keys";
    let opened: Awaited<ReturnType<typeof startKeepers>>;

    before(async () => {
      opened = await startKeepers(
        KEEPERS,
        isLocal
          ? {}
          : {
              hidden: ["eth_signTransaction"],
              settings: { accounts: "remote" },
            },
      );
    });
    after(async () => {
      await opened.close();
    });

    it("settle settles once whenever it is killed and resumed", async () => {
      const { keepers } = opened;
      // Up to the nonce, both ways of signing are one.
      const requests = await requestsOfSettlement(keepers, isLocal);
      const all = requests.flatMap((key): Kill[] => [
        { ...key, moment: "before" },
        ...(SENDS.includes(key.method)
          ? [{ ...key, moment: "after" } as const]
          : []),
      ]);
      const decisive = all.filter(({ method, moment, occurrence }) =>
        isLocal
          ? moment === "after" || method === "eth_getTransactionCount"
          : SENDS.includes(method) && occurrence === 0,
      );
      const kills = isFull ? all : decisive;
      await runCases("kills", keepers, kills, checkKill);
    });

    async function checkKill(
      keeper: KeeperOnNode,
      kill: Kill,
      index: number,
    ): Promise<void> {
      const { vault, settler, chain, server } = keeper;
      const countBefore = await chain.settlementCount();
      const settle = async (): Promise<Settlement> =>
        await vault.settleAll({ from: settler, pollingInterval: 20 });
      const child = startHardhat(
        ["vault", "settle", "--yes", "--json", "--network", "test"],
        {
          cwd: opened.project.path,
          env: {
            TEST_URL: server.url,
            TEST_VAULT: JSON.stringify({ contracts: chain.contracts }),
            TEST_NETWORK: JSON.stringify({
              accounts: isLocal ? [devKey(index)] : "remote",
              from: settler,
            }),
          },
        },
      );

      const stderr = await killAt(kill, child, server);

      const wasJournalled = existsSync(keeper.journal);
      const resumed = await vault.settleAll({
        pollingInterval: 20,
        resume: true,
      });
      if (resumed.code === "VAULT_SETTLEMENT_LOST") {
        // Without signed bytes, what never left is settled again.
        expect(mode).to.equal("remote accounts");
        expect(await settle()).to.include({ status: "settled" });
      } else if (wasJournalled) {
        expect(resumed.status, resumed.reason ?? "").to.be.oneOf([
          "settled",
          "nothing-to-do",
        ]);
        // What was printed before the end is the hash of what was settled.
        const printed = /Transaction (0x[0-9a-f]{64})/u.exec(stderr)?.[1];
        expect(printed ?? resumed.hash).to.equal(resumed.hash);
      } else {
        expect(resumed).to.include({ status: "refused", hash: null });
        // It had settled, and asked for its report only, or nothing was sent, and nothing
        // is in the way of another try.
        const isSettled = (await chain.settlementCount()) > countBefore;
        expect(await settle()).to.include({
          status: isSettled ? "nothing-to-do" : "settled",
        });
      }
      expect(await chain.settlers(countBefore)).to.deep.equal([settler]);
    }
  });
}

/** A request that ends the process: before the node has it, or afterwards. */
interface Kill extends RequestKey {
  readonly moment: "before" | "after";
}

/** Kills a process at a request, and returns what it printed on stderr. */
async function killAt(
  { moment, ...key }: Kill,
  child: ChildProcess,
  server: FaultyRpcServer,
): Promise<string> {
  let stderr = "";
  child.stderr?.on("data", (text: Buffer) => {
    stderr += text.toString();
  });
  const killed = once(child, "close");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await killed;
  };
  if (moment === "before") {
    server.before(key, kill);
    server.inject({ ...key, kind: "drop before forwarding" });
  } else {
    server.afterwards(key, kill);
  }
  await killed;
  await server.idle();
  expect([child.signalCode, server.unused], stderr).to.eql(["SIGKILL", []]);
  return stderr;
}

import { expect } from "chai";
import { toBeHex } from "ethers";

import { simulationBlocks } from "../../tasks/output/simulation.js";
import { simulateToShow } from "../../tasks/simulate.js";
import { fieldsOf } from "../helpers/fields.js";
import { hreOnLive, httpNetwork } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { context, linesOf } from "../helpers/screens.js";
import { itFails, useTasks } from "../helpers/use-tasks.js";
import { DEV_KEYS } from "../helpers/world.js";

/** The selector of `decimals()`. */
const DECIMALS = "0x313ce567";

// What a simulation finds: test/simulation. What its screen shows: output/simulation.ts.
describe("vault simulate", () => {
  it("simulate scales a token that moves by its decimals, also if --tokens does not name it", async () => {
    const node = new ScriptedNode();
    node.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["data"] === DECIMALS ? toBeHex(1, 32) : await answer(),
    );
    const host = node.host({
      settings: { accounts: "remote" },
      projectRoot: import.meta.dirname,
    });
    const shown = await simulateToShow(host, {});
    const lines = linesOf(simulationBlocks(shown, "live", context));
    expect(lines).to.include(`0.5 ${VAULT} · vault contract · vault contract`);
  });
});

describe("vault simulate on a node", () => {
  const tasks = useTasks({
    networks: (url, { addresses }) => {
      const vault = { contracts: addresses, tokenDecimals: 18 };
      return {
        live: httpNetwork(url, { vault }),
        other: httpNetwork(url, { accounts: [DEV_KEYS[1]], vault }),
      };
    },
  });
  const simulation = async (typed: string, exitCode = 0) =>
    fieldsOf(
      (await tasks.documentOf(`simulate ${typed}`, exitCode))["simulation"],
    );

  for (const [title, option, exitCode] of [
    ["the first account of the node", "", 1],
    ["the first account of the configuration", "--network other", 0],
    ["the account of --from", `--from ${NOBODY}`, 0],
  ] as const) {
    it(`simulate calls as ${title}, and exits with ${exitCode} if the vault refuses only the node's first account`, async () => {
      const from = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
      await tasks.mocks.fail("settleAll", "closed", { from });
      expect(await simulation(option, exitCode)).to.include(
        exitCode === 0
          ? { status: "settled", code: null, reason: null }
          : { status: "reverted", reason: "closed" },
      );
    });
  }

  it("simulate --at-time end settles at the round's end", async () => {
    const endTime = 1_990_000_000;
    await tasks.mocks.set({ round: { endTime: BigInt(endTime) } });
    const { block } = await simulation("--at-time end");
    expect(block).to.include({ timestamp: endTime });
  });

  it("simulate has nothing to do if the round is settled, and exits with 0", async () => {
    await tasks.run("settle --yes");
    expect(await simulation("")).to.include({ status: "nothing-to-do" });
  });

  it("simulate --block starts from an earlier block, also with --fork", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.run("settle --yes");
    const back = await tasks.documentOf(`simulate --block ${number}`);
    expect(back).to.have.nested.property("simulation.status", "settled");
    expect(back).to.have.nested.property("block.number", number);
    const fork = await simulation(`--block ${number} --fork`);
    expect(fork).to.include({ status: "settled", engine: "fork" });
    const old = await simulation(`--block ${number} --hardfork prague`);
    expect(old).to.include({ status: "settled", engine: "fork" });
  });

  for (const [typed, seconds, hangs, named] of [
    ["simulate", 0.5, "eth_simulateV1", "eth_simulateV1"],
    // The simulator sends this by itself; a busy machine had not come so far in 0.5 s.
    ["simulate --fork", 3, "eth_getStorageAt", "the requests of a fork"],
  ] as const) {
    it(`${typed} ends with VAULT_RPC_TIMEOUT at --timeout if ${hangs} hangs`, async () => {
      const server = await startRpcServer({
        upstream: tasks.url,
        handler: ({ request: { method } }) =>
          method === hangs ? "handled" : undefined,
      });
      const vault = { contracts: tasks.mocks.addresses };
      const hre = await hreOnLive(server.url, { vault });
      const result = await runTyped(
        hre,
        `${typed} --json --timeout ${seconds}`,
      );
      await server.stop();
      const { error } = fieldsOf(parseDocument(result));
      expect(error).to.have.property("code", "VAULT_RPC_TIMEOUT");
      expect(error).to.have.nested.property("details.method", named);
    });
  }

  itFails(
    tasks,
    `
    simulate --block 1 | VAULT_NO_CODE | at block 1, the vault contract
    simulate --tokens ${NOBODY} | VAULT_NOT_A_TOKEN | ${NOBODY}
    `,
  );
});

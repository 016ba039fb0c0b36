import { expect } from "chai";
import { toQuantity } from "ethers";

import { distinctState } from "../helpers/distinct-state.js";
import { fieldsOf } from "../helpers/fields.js";
import { hreOnLive, httpNetwork } from "../helpers/hre.js";
import { NOBODY, SECOND } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { FACTORY } from "../helpers/scripted-contracts.js";
import { ScriptedNode, handlerOf } from "../helpers/scripted-node.js";
import { useTasks } from "../helpers/use-tasks.js";
import { DEV_KEYS } from "../helpers/world.js";

// What a reading shows: goldens.ts and output/values.ts.
describe("read tasks", () => {
  const tasks = useTasks({
    overrides: distinctState,
    networks: (url, { addresses: contracts }) => {
      const vault = { contracts, tokenDecimals: 18 };
      return {
        live: httpNetwork(url, { from: SECOND, vault }),
        keyed: httpNetwork(url, { accounts: [DEV_KEYS[2]], vault }),
        scaled: httpNetwork(url, {
          vault: { contracts, displayDecimals: { volume: 2 } },
        }),
      };
    },
  });

  for (const [typed, ...shown] of [
    ["volume --raw", "Volume · 45", ""],
    ["volume --network scaled", "Volume · 0.45"],
    ["funding-rate --raw --type put", "Put funding fee rate · 2", ""],
    [
      "margins --raw --max-volume 1 --apy 2 --end-time +7d",
      "Base token margin to pay · 41",
      "X token margin to pay · 42",
      "",
    ],
    [
      "margins --raw --max-volume 1 --apy 2 --end-time +7d --block pending",
      "Base token margin to pay · 41",
    ],
  ] as const) {
    it(`vault ${typed} prints ${shown.join(", ")}`, async () => {
      const [, ...lines] = await tasks.linesOf(typed);
      expect(lines.slice(0, shown.length)).to.deep.equal([...shown]);
    });
  }

  it("a read with --block reads an earlier block, by its number in decimal or 0x hex", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 46n });
    for (const [typed, volume] of [
      ["volume", "46"],
      [`volume --block ${number}`, "45"],
      [`volume --block ${toQuantity(number)}`, "45"],
    ] as const) {
      expect(await tasks.documentOf(typed)).to.include({ volume });
    }
  });

  it("vault round counts to the end from its block's time, in one request", async () => {
    const node = new ScriptedNode();
    const latest = fieldsOf(
      await node.answerTo("eth_getBlockByNumber", ["latest", false]),
    );
    const endTime = BigInt(Number(latest["timestamp"]) + 65);
    node.rounds = node.rounds.map((round) => ({ ...round, endTime }));
    node.asked.length = 0;
    const server = await startRpcServer({ handler: handlerOf(node) });
    const vault = { contracts: { vaultFactory: FACTORY } };
    const { stdout } = await runTyped(
      await hreOnLive(server.url, { vault }),
      "round",
    );
    await server.stop();
    expect(node.asked.map(({ method }) => method)).to.deep.equal(["eth_call"]);
    expect(stdout).to.include("in 1m 5s");
  });

  it("a read calls as --from names, else as the network's from, else as the zero address", async () => {
    // Returns its caller to every call.
    const { vault } = tasks.mocks.addresses;
    await tasks.rpc("anvil_setCode", vault, "0x335f5260205ff3");
    for (const [typed, caller] of [
      ["volume", SECOND],
      ["volume --network keyed", "0x0"],
      [`volume --from ${NOBODY}`, NOBODY],
    ] as const) {
      const { volume } = await tasks.documentOf(typed);
      expect(volume, typed).to.equal(BigInt(caller).toString());
    }
  });

  it("margins passes APY and end to the contract, counts +7d from the block that --block names, and reads there", async () => {
    // Returns the last two arguments.
    const { vault } = tasks.mocks.addresses;
    await tasks.rpc("anvil_setCode", vault, "0x604060245f3760405ff3");
    await tasks.rpc("evm_mine");
    const { number, timestamp } = await tasks.mocks.vault.block();
    await tasks.rpc("evm_increaseTime", 86_400);
    await tasks.rpc("evm_mine");
    const typed = "margins --max-volume 1 --apy 12.5 --end-time +7d";
    const { block, margins } = await tasks.documentOf(
      `${typed} --block ${number}`,
    );
    expect(block).to.deep.include({ number, timestamp });
    expect(margins).to.deep.equal({
      baseMarginAmount: "125000000000000000",
      xMarginAmount: String(timestamp + 7 * 86_400),
    });
  });
});

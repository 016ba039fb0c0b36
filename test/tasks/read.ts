import { expect } from "chai";
import { toQuantity } from "ethers";

import { ORDER_ID, distinctState } from "../helpers/distinct-state.js";
import { fieldsOf } from "../helpers/fields.js";
import { hreOnLive, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { FACTORY } from "../helpers/scripted-contracts.js";
import { ScriptedNode, handlerOf } from "../helpers/scripted-node.js";
import { squeezed, useTasks } from "../helpers/use-tasks.js";
import { DEV_KEYS } from "../helpers/world.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NOBODY = "0x00000000000000000000000000000000000000AA";
const MAX = (2n ** 256n - 1n).toString();

const round = {
  "Strike price": "11",
  APY: "12",
  "Maximum volume": "13",
  "Filled volume": "14",
  "Minimum deposit": "15",
  Start: "16",
  End: "17",
  "Settled price": "18",
  "Settled amount": MAX,
  Settled: "yes",
};
const rates = { "Call funding fee rate": "1", "Put funding fee rate": "2" };
const pools = {
  ...{ "Public deposited": "31", "Public available": "32" },
  ...{ "Public locked": "33", "Private deposited": "34" },
  ...{ "Private available": "35", "Private locked": "36" },
};
const marginBalance = {
  "Withdrawable base token margin": "43",
  "Withdrawable X token margin": "44",
};
/** The lines that a task prints with --raw of values of which no two are the same. */
const printed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "funding-rate": rates,
  "funding-rate --type call": { "Call funding fee rate": "1" },
  "funding-rate --type put": { "Put funding fee rate": "2" },
  round,
  [`order ${ORDER_ID}`]: {
    Pair: "ÄTH/USDT 🚀 longer than one word",
    Holder: HOLDER,
    "Open positions": "21",
    "Opening fee": "22",
    "Accumulated position fee": "23",
    "Next position fee": "24",
    "Opening price": "25",
    Margin: "26",
    "Liquidation fee": "27",
    Opened: "28",
    "Closing price": "29",
    Direction: "7",
    State: "255",
  },
  pools,
  volume: { Volume: "45" },
  "margin-balance": marginBalance,
  "min-margin": { "Minimum X token margin": "46" },
  "margins --max-volume 1 --apy 12 --end-time +7d": {
    "Base token margin to pay": "41",
    "X token margin to pay": "42",
  },
};

describe("read tasks", () => {
  const tasks = useTasks({
    overrides: distinctState,
    networks: (url, { addresses: contracts }) => {
      const vault = { contracts, tokenDecimals: 18 };
      return {
        live: httpNetwork(url, { from: HOLDER, vault }),
        keyed: httpNetwork(url, { accounts: [DEV_KEYS[2]], vault }),
        scaled: httpNetwork(url, {
          vault: {
            ...{ contracts, tokenDecimals: 1 },
            displayDecimals: { pools: 1, volume: 2, "order.openPrice": 1 },
          },
        }),
      };
    },
  });

  for (const [typed, lines] of Object.entries(printed)) {
    it(`vault ${typed.replace(/\d{9,}/u, "<id>")} prints each value beside its label, and nothing else with --raw`, async () => {
      const { stdout, exitCode } = await tasks.run(`${typed} --raw`);
      expect(exitCode).to.equal(0);
      const [, ...values] = squeezed(stdout).trimEnd().split("\n");
      expect(values).to.deep.equal(
        Object.entries(lines).map(([label, value]) => `${label} · ${value}`),
      );
    });
  }

  it("a value is scaled by its documented unit, by displayDecimals as configured, or raw", async () => {
    for (const [typed, ...lines] of [
      ["funding-rate", "Call funding fee rate · 0.00000001"],
      ["volume", "Volume · 45 raw"],
      ["volume --network scaled", "Volume · 0.45"],
      ["pools --network scaled", "Private locked · 3.6"],
      ["round --network scaled", "Maximum volume · 1.3 tokens"],
      [
        `order ${ORDER_ID} --network scaled`,
        "Opening price · 2.5",
        "Margin · 26 raw",
        "Direction · unknown (7)",
        "State · unknown (255)",
      ],
    ] as const) {
      const shown = squeezed((await tasks.run(typed)).stdout).split("\n");
      expect(shown, typed).to.include.members([...lines]);
    }
  });

  it("--block reads an earlier block, by its number in decimal or 0x hex", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 46n });
    for (const [typed, volume] of [
      ["volume", "46"],
      [`volume --block ${number}`, "45"],
      [`volume --block 0x${number.toString(16)}`, "45"],
    ] as const) {
      expect(await tasks.documentOf(typed)).to.include({ volume });
    }
  });

  it("a read counts times from the clock of the chain only for the latest round, and only then notes an old block", async () => {
    const { number, timestamp } = await tasks.mocks.vault.block();
    const end = BigInt(timestamp + 3_600);
    await tasks.mocks.set({ round: { settled: false, endTime: end } });
    await tasks.rpc("evm_increaseTime", 7_200);
    const shown = async (typed: string): Promise<string> =>
      (await tasks.run(typed)).stdout;
    expect(await shown("round"))
      .to.match(/^The newest block is 7\d{3} s old\./mu)
      .and.match(/^End .* 1h(?: \d+m)? ago$/mu);
    const past = await shown(`round --block ${number + 1}`);
    expect(past).to.match(/^End .* in (?:1h|59m .*)$/mu);
    for (const text of [past, await shown("volume"), await shown("pools")]) {
      expect(text).to.not.include("newest block");
    }
  });

  for (const [seconds, isOld] of [
    [59, false],
    [60, true],
  ] as const) {
    it(`round ${isOld ? "notes" : "does not note"} that the newest block is ${seconds} s older than the next one`, async () => {
      const scripted = new ScriptedNode();
      const latest = fieldsOf(
        await scripted.answerTo("eth_getBlockByNumber", ["latest", false]),
      );
      scripted.on("eth_getBlockByNumber", async ([block], answer) =>
        block === "pending"
          ? {
              ...latest,
              number: null,
              timestamp: toQuantity(Number(latest["timestamp"]) + seconds),
            }
          : await answer(),
      );
      const server = await startRpcServer({ handler: handlerOf(scripted) });
      const contracts = { vaultFactory: FACTORY };
      const hre = await hreOnLive(server.url, { vault: { contracts } });
      const { stdout } = await runTyped(hre, "round");
      await server.stop();
      expect(stdout.includes(`newest block is ${seconds} s old`)).to.equal(
        isOld,
      );
      expect(stdout).to.include("Strike price");
    });
  }

  it("margins counts +7d from the block that --block names, and reads there", async () => {
    // Returns the last two arguments.
    const { vault } = tasks.mocks.addresses;
    await tasks.rpc("anvil_setCode", vault, "0x604060245f3760405ff3");
    await tasks.rpc("evm_mine");
    const { number, timestamp } = await tasks.mocks.vault.block();
    await tasks.rpc("evm_increaseTime", 86_400);
    await tasks.rpc("evm_mine");
    const typed = "margins --max-volume 1 --apy 1 --end-time +7d";
    const { block, margins } = await tasks.documentOf(
      `${typed} --block ${number}`,
    );
    expect(block).to.deep.include({ number, timestamp });
    expect(margins).to.have.property(
      "xMarginAmount",
      String(timestamp + 7 * 86_400),
    );
  });

  it("a read of a contract that answers a caller with code otherwise is as an account would read it", async () => {
    // Returns 45 to a caller without code, such as an account, and one byte to others.
    const { vault } = tasks.mocks.addresses;
    const code = "0x333b600d57602d5f5260205ff35b60015ff3";
    await tasks.rpc("anvil_setCode", vault, code);
    expect(await tasks.documentOf("volume")).to.include({ volume: "45" });
  });

  it("order has its id in the document", async () => {
    const { order } = await tasks.documentOf(`order ${ORDER_ID}`);
    expect(order).to.include({ orderID: ORDER_ID.toString(), number: "21" });
  });

  it("a read calls as --from names, else as the network's from, else as the zero address", async () => {
    // Returns its caller, whatever it is asked.
    const { vault } = tasks.mocks.addresses;
    await tasks.rpc("anvil_setCode", vault, "0x335f523360205260405ff3");
    for (const [typed, caller] of [
      ["volume", HOLDER],
      ["volume --network keyed", "0x0"],
      [`volume --from ${NOBODY}`, NOBODY],
    ] as const) {
      const { volume } = await tasks.documentOf(typed);
      expect(volume, typed).to.equal(BigInt(caller).toString());
    }
    const { status } = await tasks.documentOf(`status --from ${NOBODY}`);
    expect(status).to.have.nested.property(
      "marginBalance.xMarginAmount",
      "170",
    );
  });

  it("margins passes volume, APY and end to the contract, scaled, in that order", async () => {
    const { vault } = tasks.mocks.addresses;
    const typed = "margins --max-volume 1.5 --apy 12.5 --end-time 2000000000";
    for (const [code, baseMarginAmount, xMarginAmount] of [
      // Return the first two arguments, and the last two.
      ["0x604060045f3760405ff3", "1500000000000000000", "125000000000000000"],
      ["0x604060245f3760405ff3", "125000000000000000", "2000000000"],
    ] as const) {
      await tasks.rpc("anvil_setCode", vault, code);
      const { margins } = await tasks.documentOf(typed);
      expect(margins).to.deep.equal({ baseMarginAmount, xMarginAmount });
    }
  });

  it("status shows a reading that fails in its place, and exits with 1", async () => {
    await tasks.mocks.fail("queryVolume", "closed\u001b[2J");
    await tasks.mocks.fail("getLPAmountInfo", "0x", { pool: "public" });
    const { stdout, exitCode } = await tasks.run("status");
    expect(exitCode).to.equal(1);
    expect(squeezed(stdout))
      .to.match(/^Public.* · failed: getLPAmountInfo reverted: /mu)
      .and.match(
        /^Volume.* · failed: queryVolume reverted: closed\\u\{1b\}\[2J/mu,
      )
      .and.include("Private locked · 36 raw");
    const { status } = await tasks.documentOf("status", 1);
    for (const place of ["volume", "pools.public"]) {
      expect(status).to.have.nested.property(
        `${place}.error.code`,
        "VAULT_CALL_REVERTED",
      );
    }
    expect(status).to.have.nested.property("pools.private.locked", "36");
  });
});

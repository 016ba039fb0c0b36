import { expect } from "chai";

import { fieldsOf, listOf } from "../helpers/fields.js";
import { SETTLE, settledRound } from "../helpers/scripted-contracts.js";
import { NOT_YET } from "../helpers/settlement-cases.js";
import { itSettles, useKeeper } from "../helpers/keeper.js";
import type { NetworkChanges, Keeper } from "../helpers/keeper.js";

// The settlement of the scripted node uses 60,000 gas, at a base fee of 7 and
// a priority fee of 1. Its account has 10^18 wei.
describe("settleAll: gas and costs", () => {
  const keeper = useKeeper();
  const neverAsk = {
    confirm: async () => await Promise.reject(new Error("asked")),
  };
  const withoutEngine = ({ chain }: Keeper): void => {
    chain.overrides = false;
  };
  /** The simulation reports that the settlement used up the gas of a block. */
  const useUp = ({ chain }: Keeper): void => {
    const outOfGas = {
      ...{ status: "0x0", returnData: "0x", gasUsed: "0x1c9c380", logs: [] },
      error: { code: -32_015, message: "out of gas" },
    };
    chain.on("eth_simulateV1", async (_, answer) =>
      listOf(await answer()).map((block) => ({
        ...fieldsOf(block),
        calls: listOf(fieldsOf(block)["calls"]).map((call) =>
          listOf(fieldsOf(call)["logs"]).length > 0 ? outOfGas : call,
        ),
      })),
    );
  };

  const tooLittle: ReadonlyArray<
    readonly [title: string, network: NetworkChanges, simulations: number]
  > = [
    ["gas below that of any transaction", { gas: 20_999n }, 0],
    ["1 gas less than it uses", { gas: 59_999n }, 1],
    ["a gasMultiplier that leaves less", { gasMultiplier: 0.5 }, 1],
  ];
  itSettles(keeper, [
    ...tooLittle.map(([title, network, simulations]) => ({
      title: `settleAll refuses ${title}, and does not ask: VAULT_GAS_LIMIT_TOO_LOW`,
      network,
      options: neverAsk,
      is: { status: "refused", code: "VAULT_GAS_LIMIT_TOO_LOW" } as const,
      then: ({ chain }: Keeper) => {
        expect(chain.count("eth_simulateV1")).to.equal(simulations);
      },
    })),
    {
      title: "settleAll settles with exactly the gas that it uses",
      network: { gas: 60_000n },
      is: { status: "settled", gasUsed: 60_000n },
      sends: 1,
    },
    {
      title: "settleAll settles with exactly its highest cost",
      network: { gas: 100_000n, gasPrice: 10n ** 13n },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title:
        "settleAll refuses with 1 wei less for each gas: VAULT_INSUFFICIENT_FUNDS",
      network: { gas: 100_000n, gasPrice: 10n ** 13n + 1n },
      is: { status: "refused", code: "VAULT_INSUFFICIENT_FUNDS" },
      says: [String(10n ** 18n), String(10n ** 18n + 100_000n)],
      events: "preflight",
    },
    ...[0n, 1n].map((missing) => ({
      title: `settleAll without an engine ${missing === 0n ? "settles" : "refuses"} if the account has its highest cost less ${missing} wei`,
      given: (on: Keeper) => {
        withoutEngine(on);
        const balance = 75_000n * 15n - missing;
        on.chain.on("eth_getBalance", () => `0x${balance.toString(16)}`);
      },
      is: {
        code: missing === 0n ? null : ("VAULT_INSUFFICIENT_FUNDS" as const),
      },
      sends: missing === 0n ? 1 : 0,
    })),
    {
      title:
        "settleAll is reverted with VAULT_OUT_OF_GAS if it uses all gas of a block, and does not ask",
      given: useUp,
      options: neverAsk,
      is: { status: "reverted", code: "VAULT_OUT_OF_GAS", hash: null },
      says: ["30000000"],
      events: "preflight",
    },
    {
      title:
        "settleAll refuses with VAULT_GAS_LIMIT_TOO_LOW if it uses all of its configured gas",
      given: useUp,
      network: { gas: 30_000n },
      options: neverAsk,
      is: { status: "refused", code: "VAULT_GAS_LIMIT_TOO_LOW" },
      says: ["30000 gas"],
    },
    {
      title:
        "settleAll without an engine estimates its gas, with a quarter more",
      given: withoutEngine,
      is: { status: "settled", preview: null },
      sends: 1,
      then: ({ events: [first] }) => {
        expect(first).to.have.deep.nested.include({
          "preflight.gas": 75_000n,
          "preflight.preview": null,
          "preflight.tokens": new Map(),
        });
      },
    },
    {
      title:
        "settleAll without an engine calls the contract with the configured gas",
      given: withoutEngine,
      network: { gas: 500_000n },
      is: { status: "settled", preview: null },
      sends: 1,
      then: ({ chain }) => {
        const calls = chain.asked
          .filter(({ method }) => method === "eth_call")
          .map(({ params: [call] }) => fieldsOf(call))
          .filter(({ data }) => data === SETTLE);
        expect(new Set(calls.map(({ gas }) => gas))).to.deep.equal(
          new Set(["0x7a120"]),
        );
        expect(chain.count("eth_estimateGas")).to.equal(0);
      },
    },
    {
      title:
        "settleAll without an engine does not estimate the gas of a call that reverts",
      given: async (on) => {
        withoutEngine(on);
        await on.refuseWith(NOT_YET);
      },
      is: { status: "reverted", reason: "not yet" },
      then: ({ chain }) => {
        expect(chain.count("eth_estimateGas")).to.equal(0);
      },
    },
    {
      title:
        "settleAll without an engine is reverted with the reason of its estimate",
      given: (on) => {
        withoutEngine(on);
        on.chain.on("eth_estimateGas", () => {
          throw Object.assign(new Error("execution reverted"), {
            ...{ code: 3, data: NOT_YET },
          });
        });
      },
      is: { status: "reverted", reason: "not yet" },
    },
    {
      title:
        "settleAll has nothing to do if the round is settled while it reads the price",
      given: ({ chain }) => {
        chain.on("eth_maxPriorityFeePerGas", async (_, answer) => {
          chain.rounds = chain.rounds.map(settledRound);
          return await answer();
        });
      },
      is: { status: "nothing-to-do", code: null },
      says: ["meanwhile"],
      events: "",
    },
  ]);

  const costs: ReadonlyArray<
    readonly [
      title: string,
      network: NetworkChanges,
      gas: bigint,
      price: bigint,
      highest: bigint,
    ]
  > = [
    ["no settings", {}, 93_750n, 8n, 15n],
    ["a gasMultiplier", { gasMultiplier: 2 }, 120_000n, 8n, 15n],
    // Hardhat multiplies only what it estimates.
    ["gas", { gas: 100_000n, gasMultiplier: 2 }, 100_000n, 8n, 15n],
    ["a gasPrice", { gasPrice: 5n }, 93_750n, 5n, 5n],
    [
      "a fee limit, below the double base fee",
      { vault: { maxFeePerGasLimit: 12n } },
      93_750n,
      8n,
      12n,
    ],
    ["a gasPrice of 0", { gas: 100_000n, gasPrice: 0n }, 100_000n, 0n, 0n],
  ];
  for (const [title, network, gas, price, highest] of costs) {
    it(`settleAll computes its costs with ${title}`, async () => {
      await keeper.settle({}, network);
      const [first] = keeper.events;
      expect(first).to.have.deep.nested.include({
        "preflight.gas": gas,
        "preflight.cost": gas * price,
        "preflight.maxCost": gas * highest,
      });
    });
  }
});

import { expect } from "chai";

import type { Address } from "../../src/protocol/index.js";
import { confirm } from "../../src/simulation/confirm.js";
import { expectVaultError } from "../helpers/assertions.js";
import { FACTORY, SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  askedOf,
  changeCalls,
  changeSettlement,
  refuse,
  settlementIn,
  simulateOn,
} from "../helpers/simulate-on.js";

const GUARD: Address = "0x00000000000000000000000000000000000000A7";
const failed = { status: "0x0", returnData: "0x12345678", logs: [] };

/** Without a price in `eth_simulateV1`, or with one, the settlement fails. */
const failIn =
  (phase: "unpriced" | "priced") =>
  (node: ScriptedNode): void => {
    changeCalls(node, (place) => {
      const { calls } = askedOf(node);
      const isPriced = calls[settlementIn(calls)]?.["gasPrice"] !== undefined;
      return place === 0 && isPriced === (phase === "priced") ? failed : {};
    });
  };

const accept = (node: ScriptedNode): void => {
  node.on("eth_call", () => "0x");
};
const revert = (node: ScriptedNode): void => {
  node.on("eth_call", () => {
    const data = "0x87654321";
    throw Object.assign(new Error("execution reverted"), { code: 3, data });
  });
};

describe("a simulated settlement, and a call of it with the transaction's gas and price", () => {
  it("the call has the sender, the gas limit and the price of the transaction, and block and time of the simulation", async () => {
    const node = new ScriptedNode();
    await simulateOn(node, { blockNumber: 2 });
    const called = node.asked.filter(({ method }) => method === "eth_call");
    expect(called.map(({ params }) => params)).to.deep.equal([
      [
        {
          ...{ from: SETTLER, to: VAULT, data: "0xa015aefe" },
          // 60,000 before refunds, and a quarter.
          ...{ gas: "0x16e36", gasPrice: "0x8" },
        },
        "0x2",
        {},
        { number: "0x3", time: "0x6553f103", baseFeePerGas: "0x7" },
      ],
    ]);
  });

  for (const [title, script, outcome, times] of [
    ["that it accepts, too", [accept], /^settled: null/u, 1],
    [
      "that it refuses, and with them it is settled",
      [revert],
      /^reverted: unknown error 0x87654321.*\. Without .* would be settled\./u,
      2,
    ],
    [
      "that it refuses, and with them it reverts",
      [revert, failIn("priced")],
      /^reverted: unknown error 0x12345678.*\. Without .* would be settled\./u,
      2,
    ],
    [
      "that it accepts, and with them it is settled",
      [accept, failIn("unpriced")],
      /^settled: null .*Without .* would be reverted\./u,
      2,
    ],
    [
      "that it accepts, and with them it reverts",
      [(node: ScriptedNode) => changeSettlement(node, failed), accept],
      /^not-settled: The contract accepts a call .* not known\. Without .* would be reverted\./u,
      2,
    ],
    [
      "that the node does not make",
      [
        (node: ScriptedNode) =>
          node.on("eth_call", refuse("no overrides", -32_602)),
      ],
      /^settled: null The outcome with the transaction's gas and price is not known/u,
      1,
    ],
  ] as const) {
    it(`a settlement ${title} ends as ${outcome.source}`, async () => {
      const node = new ScriptedNode();
      script.forEach((change) => {
        change(node);
      });
      const { status, reason, notes } = await simulateOn(node);
      expect(`${status}: ${String(reason)} ${notes.join(" ")}`).to.match(
        outcome,
      );
      expect(node.count("eth_simulateV1")).to.equal(times);
      expect(node.count("eth_call")).to.equal(1);
    });
  }

  it("a settlement is not called as a transaction of a sender with code", async () => {
    const node = new ScriptedNode({ codeOf: () => "0x60" });
    const { notes } = await simulateOn(node);
    expect(notes.join()).to.contain("gas and price is not known");
    expect(node.count("eth_call")).to.equal(0);
  });

  it("a time-out of the second simulation is thrown: VAULT_RPC_TIMEOUT", async () => {
    const node = new ScriptedNode();
    revert(node);
    node.on("eth_simulateV1", async (_, answer, occurrence) => {
      if (occurrence > 0) {
        throw Object.assign(new Error("lost"), { code: "ETIMEDOUT" });
      }
      return await answer();
    });
    await expectVaultError(simulateOn(node), "VAULT_RPC_TIMEOUT");
  });

  it("the effects of a settlement that only the call decides are not known", async () => {
    const node = new ScriptedNode();
    changeSettlement(node, failed);
    accept(node);
    expect(await simulateOn(node)).to.deep.include({
      ...{ changes: [], balances: [], transfers: null, gasUsed: null },
      code: "VAULT_NOT_SETTLED",
    });
  });

  for (const [mustSettle, status] of [
    [true, "settled"],
    [false, "not-settled"],
  ] as const) {
    it(`a settlement that only a call through a guard accepts is ${status} if the guard ${mustSettle ? "demands" : "does not demand"} that`, async () => {
      const node = new ScriptedNode();
      changeSettlement(node, failed);
      const simulation = await simulateOn(node);
      const guard = {
        ...{ address: GUARD, factory: FACTORY, mustHaveEnded: false },
        ...{ round: { startTime: 1n, strikePrice: 2n }, tokens: [] },
        mustSettle,
      };
      const confirmed = await confirm(
        node.host(),
        { from: SETTLER, vault: VAULT, guard },
        { simulation },
        { data: Buffer.alloc(0) },
        async () => await Promise.resolve({ simulation }),
      );
      expect(confirmed.simulation.status).to.equal(status);
    });
  }
});

import { expect } from "chai";

import type { Simulation } from "../../src/types.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  changeSettlement,
  changeSimulated,
  refuse,
  settlementIn,
  simulateOn,
} from "../helpers/simulate-on.js";

const failed = { status: "0x0", returnData: "0x12345678", logs: [] };

/** Without a price in `eth_simulateV1`, or with one, the settlement fails. */
function failIn(node: ScriptedNode, phase: "unpriced" | "priced"): void {
  changeSimulated(node, (block, calls) => {
    const asked = node.asked.findLast(
      ({ method }) => method === "eth_simulateV1",
    );
    const [state] = listOf(fieldsOf(asked?.params[0])["blockStateCalls"]);
    const place = settlementIn(calls);
    const settlement = listOf(fieldsOf(state)["calls"])[place];
    const isPriced = fieldsOf(settlement)["gasPrice"] !== undefined;
    return [
      {
        ...block,
        calls: calls.map((call, index) =>
          index === place && isPriced === (phase === "priced")
            ? { ...fieldsOf(call), ...failed }
            : call,
        ),
      },
    ];
  });
}

const accept = (node: ScriptedNode): void => {
  node.on("eth_call", () => "0x");
};
const revert = (node: ScriptedNode): void => {
  node.on("eth_call", () => {
    const data = "0x87654321";
    throw Object.assign(new Error("execution reverted"), { code: 3, data });
  });
};

describe("a simulated settlement beside a call of it with the transaction's gas and price", () => {
  it("the call has the sender, the gas limit and the price of the transaction, and block and time of the simulation", async () => {
    const node = new ScriptedNode();
    await simulateOn(node, { blockNumber: 2 });
    const [called, ...more] = node.asked.filter(
      ({ method }) => method === "eth_call",
    );
    expect(more).to.deep.equal([]);
    expect(called?.params).to.deep.equal([
      {
        ...{ from: SETTLER, to: VAULT, data: "0xa015aefe" },
        // 60,000 before refunds, and a quarter.
        ...{ gas: "0x16e36", gasPrice: "0x8" },
      },
      "0x2",
      {},
      { number: "0x3", time: "0x6553f103", baseFeePerGas: "0x7" },
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
      [revert, (node) => failIn(node, "priced")],
      /^reverted: unknown error 0x12345678.*\. Without .* would be settled\./u,
      2,
    ],
    [
      "that it accepts, and with them it is settled",
      [accept, (node) => failIn(node, "unpriced")],
      /^settled: null .*Without .* would be reverted\./u,
      2,
    ],
    [
      "that it accepts, and with them it reverts",
      [(node) => changeSettlement(node, failed), accept],
      /^not-settled: The contract accepts a call .* not known\. Without .* would be reverted\./u,
      2,
    ],
    [
      "that the node does not make",
      [(node) => node.on("eth_call", refuse("no overrides", -32_602))],
      /^settled: null The outcome with the transaction's gas and price is not known/u,
      1,
    ],
  ] satisfies ReadonlyArray<
    readonly [
      string,
      ReadonlyArray<(node: ScriptedNode) => void>,
      RegExp,
      number,
    ]
  >) {
    it(`a settlement ${title} ends as ${outcome.source}`, async () => {
      const node = new ScriptedNode();
      script.forEach((change) => {
        change(node);
      });
      const { status, reason, notes } = await simulateOn(node);
      expect(`${status}: ${String(reason)} ${notes.join(" ")}`).to.match(
        outcome,
      );
      expect(
        node.asked.filter(({ method }) => method === "eth_simulateV1"),
      ).to.have.length(times);
    });
  }

  it("the effects of a settlement that only the call decides are not known", async () => {
    const node = new ScriptedNode();
    changeSettlement(node, failed);
    accept(node);
    expect(await simulateOn(node)).to.deep.include({
      ...{ changes: [], balances: [], transfers: null, gasUsed: null },
      code: "VAULT_NOT_SETTLED",
    });
  });
});

describe("native currency that a contract gives away when it destroys itself", () => {
  const [from, to] = [VAULT, SETTLER].map((each) => each.toLowerCase());
  const trace = { type: "SELFDESTRUCT", from, to, value: "0x0", calls: [] };
  const amounts = ({ transfers }: Simulation) =>
    transfers?.map(({ token, amount }) => [token, amount]) ?? null;

  for (const [title, listsGifts, traced, expected, note] of [
    ["a node that lists it", true, undefined, [[VAULT, 5n]], undefined],
    [
      "a node that omits it, and traces",
      false,
      trace,
      [[VAULT, 5n]],
      undefined,
    ],
    [
      "a node that omits it, without a trace",
      false,
      undefined,
      null,
      "Transfers are not listed",
    ],
  ] as const) {
    it(`the transfers of ${title} are ${expected === null ? "null, with a note" : "listed"}`, async () => {
      const node = new ScriptedNode();
      node.listsGifts = listsGifts;
      if (traced !== undefined) {
        node.on("debug_traceCall", () => traced);
      }
      const simulation = await simulateOn(node);
      expect(amounts(simulation)).to.deep.equal(expected);
      expect(
        simulation.notes
          .find((one) => one.startsWith("Transfers "))
          ?.slice(0, 24),
      ).to.equal(note);
    });
  }
});

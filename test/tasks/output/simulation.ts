import { expect } from "chai";

import type { Simulation, Transfer } from "../../../src/types.js";
import {
  describeTransfers,
  simulationBlocks,
} from "../../../tasks/output/simulation.js";
import type { ShownSimulation } from "../../../tasks/output/simulation.js";
import { OPEN_ROUND } from "../../helpers/scripted-contracts.js";
import {
  OTHER,
  SENDER,
  TOKEN,
  VAULT,
  context,
  linesOf,
  priceChange,
  simulated,
} from "../../helpers/screens.js";

describe("the screen of a simulation", () => {
  const shown = (
    simulation: Partial<Simulation>,
    more: Partial<ShownSimulation> = {},
    raw = false,
  ): string[] =>
    linesOf(
      simulationBlocks(
        {
          simulation: { ...simulated, ...simulation },
          ...{ chainId: 5, base: 11, sender: SENDER, ordersRead: 0 },
          ...{ balance: 0n, gasNeeded: null, tokens: new Map() },
          ...{ route: { from: SENDER, vault: VAULT } },
          kept: { tokens: [], others: [] },
          contracts: [
            { role: "trading", address: VAULT, source: "" },
            { role: "vault", address: VAULT, source: "" },
          ],
          ...more,
        },
        "li\u001bve",
        { ...context, raw },
      ),
    );

  for (const [status, outcome, label] of [
    ["settled", "<good>settled</>", "Settled by"],
    ["not-settled", "<bad>not settled: w\\u{1b}hy</>", "Called by"],
    ["reverted", "<bad>reverted: w\\u{1b}hy</>", "Called by"],
    ["nothing-to-do", "nothing to do: w\\u{1b}hy", "Called by"],
  ] as const) {
    it(`the screen of a simulation shows ${status} with the reason, and who called`, () => {
      expect(shown({ status, reason: "w\u001bhy" })).to.deep.equal([
        `Outcome · ${outcome}`,
        `${label} · ${SENDER}`,
        "Gas used · 50,000",
        "In block · 12, 2023-11-14T22:13:20Z",
        "Executed by · the node (eth_simulateV1)",
        "",
        "Nothing was sent to li\\u{1b}ve. Limits: docs/simulating-a-settlement.md#limits",
      ]);
    });
  }

  it("the screen of a simulation without an execution shows neither gas nor block, and a guard if there is one", () => {
    expect(
      shown({
        ...{ guard: OTHER, gasUsed: null, block: null, engine: "in-process" },
        notes: ["a no\u001bte"],
      }),
    ).to.deep.equal([
      "Outcome · <good>settled</>",
      `Guard · ${OTHER}`,
      `Settled by · ${SENDER}`,
      "Executed by · the in-process network, and undone",
      "",
      "a no\\u{1b}te",
      "Nothing was sent to li\\u{1b}ve. Limits: docs/simulating-a-settlement.md#limits",
    ]);
    expect(shown({ engine: "fork" })).to.include(
      "Executed by · a fork in this process",
    );
  });

  it("the screen of a simulation names the accounts of a transfer by role, and scales by the token's own decimals only", () => {
    const transfers: readonly Transfer[] = [
      { token: "native", from: VAULT, to: SENDER, amount: 15n * 10n ** 17n },
      { token: TOKEN, from: SENDER, to: OTHER, amount: 1_234_567n },
      { token: OTHER, from: OTHER, to: VAULT, amount: 1_234_567n },
    ];
    const tokens = new Map([
      [TOKEN, { symbol: "T\u001bST", decimals: 6 }],
      [OTHER, { symbol: null, decimals: null }],
    ]);
    const rows = (raw: boolean): string[] =>
      shown({ transfers }, { tokens }, raw).filter((line) => / · /u.test(line));
    expect(rows(false).slice(5)).to.deep.equal([
      "Amount · From · To",
      "1.5 native currency · vault contract · sender",
      `1.234567 T\\u{1b}ST · sender · ${OTHER}`,
      `1,234,567 raw ${OTHER} · ${OTHER} · vault contract`,
    ]);
    expect(rows(true).slice(6)).to.deep.equal([
      "1500000000000000000 raw native currency · vault contract · sender",
      `1234567 raw T\\u{1b}ST · sender · ${OTHER}`,
      `1234567 raw ${OTHER} · ${OTHER} · vault contract`,
    ]);
    expect(shown({ transfers: [] })).to.not.include("Transfers");
  });

  it("the screen of a simulation shows each balance with the sign of its difference", () => {
    const token = TOKEN;
    expect(
      shown(
        {
          balances: [
            { account: VAULT, token, before: 1_234_570n, after: 10n },
            { account: SENDER, token, before: 10n, after: 30n },
            { account: OTHER, token, before: 10n, after: 10n },
          ],
        },
        { tokens: new Map([[token, { symbol: "TST", decimals: 1 }]]) },
      ).slice(6, 11),
    ).to.deep.equal([
      "Balances",
      "Account · Before · After · Difference",
      "Vault contract, TST · 123,457 · 1 · -123,456",
      "Sender, TST · 1 · 3 · +2",
      `${OTHER}, TST · 1 · 1 · 0`,
    ]);
  });

  it("the screen of a simulation shows each change with its label, its note, and the codes of a reading that fails", () => {
    const changes = [
      priceChange,
      {
        ...{ reading: "round", field: "endTime", before: OPEN_ROUND.endTime },
        after: BigInt(context.chainTime) + 60n,
      },
      {
        ...{ reading: "volume", field: "error", before: null },
        after: "VAULT_CALL_REVERTED",
      },
      { reading: "orders.7", field: "state", before: 1, after: 2 },
      { reading: "pools.public", field: "locked", before: 1n, after: 2n },
      {
        ...{ reading: "marginBalance", field: "xMarginAmount" },
        ...{ before: 4n, after: 3n },
      },
    ];
    const end = (time: bigint): string =>
      new Date(Number(time) * 1_000).toISOString().replace(".000", "");
    expect(shown({ changes }).slice(6, 14)).to.deep.equal([
      "Changes",
      "Reading · Before · After · Note",
      "Round settled price · 0 · 66,250",
      `Round end · ${end(OPEN_ROUND.endTime)} · ${end(BigInt(context.chainTime) + 60n)} · in 1m`,
      "Volume error · no error · VAULT_CALL_REVERTED",
      "Order 7 state · open (1) · closed (2)",
      "Public locked · 1 raw · 2 raw",
      "Withdrawable X token margin · 4 raw · 3 raw",
    ]);
  });

  for (const [title, ordersRead, simulation, said] of [
    [
      "says that watched orders are unchanged beside another change",
      3,
      { changes: [priceChange] },
      "3 orders",
    ],
    ["says that a watched order is unchanged", 1, {}, "1 order"],
    [
      "says that watched orders are unchanged if the settlement reverts",
      3,
      { status: "reverted" },
      "3 orders",
    ],
    ["says nothing of orders if none is watched", 0, {}, undefined],
    [
      "says nothing of watched orders if nothing was to do",
      3,
      { status: "nothing-to-do" },
      undefined,
    ],
    [
      "says nothing of watched orders if one of them changes",
      3,
      {
        changes: [
          { reading: "orders.7", field: "state", before: 1, after: 2 },
          priceChange,
        ],
      },
      undefined,
    ],
  ] satisfies ReadonlyArray<
    readonly [string, number, Partial<Simulation>, string | undefined]
  >) {
    it(`the screen of a simulation ${title}`, () => {
      expect(
        shown(simulation, { ordersRead }).filter((line) =>
          line.includes("watched"),
        ),
      ).to.deep.equal(
        said === undefined ? [] : [`${said} watched; none changed.`],
      );
    });
  }

  it("a simulation's document has symbol and decimals of each transfer, null if unknown", () => {
    const transfer = { from: VAULT, to: OTHER, amount: 1n } as const;
    const transfers = ([TOKEN, OTHER] as const).map((token) => ({
      ...transfer,
      token,
    }));
    const known = { symbol: "TST", decimals: 6 };
    const tokens = new Map([[TOKEN, known]]);
    expect(
      describeTransfers({ ...simulated, transfers }, tokens),
    ).to.deep.equal({
      ...simulated,
      transfers: [
        { ...transfer, token: TOKEN, ...known },
        { ...transfer, token: OTHER, symbol: null, decimals: null },
      ],
    });
  });
});

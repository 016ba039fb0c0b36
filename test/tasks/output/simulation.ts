import { expect } from "chai";

import type {
  BalanceChange,
  ReadingChange,
  Simulation,
  Transfer,
} from "../../../src/types.js";
import {
  withTokens,
  simulationBlocks,
} from "../../../tasks/output/simulation.js";
import type { ShownSimulation } from "../../../tasks/output/simulation.js";
import {
  OTHER,
  SENDER,
  TOKEN,
  VAULT,
  context,
  linesOf,
  simulated,
} from "../../helpers/screens.js";

const nothingSent =
  'Nothing was sent to li\\u{1b}ve. Limits: "Simulating a settlement" in the documentation.';

describe("the screen of a simulation", () => {
  const shown = (
    simulation: Partial<Simulation>,
    more: Partial<ShownSimulation> = {},
  ): string[] =>
    linesOf(
      simulationBlocks(
        {
          simulation: { ...simulated, ...simulation },
          ...{ chainId: 5, sender: SENDER, ordersRead: 0 },
          ...{ balance: 0n, gasNeeded: null, tokens: new Map() },
          kept: [],
          contracts: [
            { role: "trading", address: VAULT, source: "" },
            { role: "vault", address: VAULT, source: "" },
          ],
          ...more,
        },
        "li\u001bve",
        context,
      ),
    );
  /** The rows of the section with that heading. */
  const rowsOf = (heading: string, lines: readonly string[]) => {
    const rows = lines.slice(lines.indexOf(heading) + 2);
    return rows.slice(0, rows.indexOf(""));
  };

  for (const [status, outcome, label] of [
    ["settled", "<good>settled</>", "Settled by"],
    ["not-settled", "<bad>not settled: w\\u{1b}hy</>", "Called by"],
    ["reverted", "<bad>reverted: w\\u{1b}hy</>", "Called by"],
    ["nothing-to-do", "nothing to do: w\\u{1b}hy", "Called by"],
  ] as const) {
    it(`simulate shows ${status} with the reason, and who called`, () => {
      const reason = status === "settled" ? null : "w\u001bhy";
      expect(shown({ status, reason })).to.deep.equal([
        ...[`Outcome · ${outcome}`, `${label} · ${SENDER}`],
        ...["Gas used · 50,000", "In block · 12, 2023-11-14T22:13:20Z"],
        ...["Executed by · the node (eth_simulateV1)", ""],
        nothingSent,
      ]);
    });
  }

  it("simulate shows the guard, and no gas if nothing was executed", () => {
    const lines = shown({ guard: OTHER, gasUsed: null });
    expect(lines).to.include(`Guard · ${OTHER}`);
    expect(lines.join()).to.not.contain("Gas used");
  });

  const changed = { field: "state", before: 1, after: 2 };
  for (const [status, ordersRead, line, changes] of [
    ["settled", 1, "1 order watched; none changed.", ["volume"]],
    ["settled", 1, undefined, ["orders.7"]],
    ["settled", 0, undefined, []],
    ["nothing-to-do", 3, undefined, []],
  ] as const) {
    it(`simulate shows ${line ?? "nothing"} of ${ordersRead} orders if [${changes.join()}] change with ${status}`, () => {
      const lines = shown(
        {
          status,
          changes: changes.map((reading) => ({ ...changed, reading })),
        },
        { ordersRead },
      );
      expect(lines.find((one) => one.includes("watched"))).to.equal(line);
    });
  }

  const transfers: readonly Transfer[] = [
    { token: "native", from: VAULT, to: SENDER, amount: 15n * 10n ** 17n },
    { token: TOKEN, from: SENDER, to: OTHER, amount: 1_234_567n },
    { token: OTHER, from: OTHER, to: VAULT, amount: 1_234_567n },
  ];
  const tokens = new Map([
    [TOKEN, { symbol: "T\u001bST", decimals: 6 }],
    [OTHER, { symbol: null, decimals: null }],
  ]);
  it("simulate names the accounts of a transfer by role, and scales its amount by the token's decimals", () => {
    const lines = shown({ transfers }, { tokens });
    expect(rowsOf("Transfers", lines)).to.deep.equal([
      "1.5 native currency · vault contract · sender",
      `1.234567 T\\u{1b}ST ${TOKEN} · sender · ${OTHER}`,
      `1,234,567 raw ${OTHER} · ${OTHER} · vault contract`,
    ]);
  });

  it("simulate shows the address of a token whose symbol is that of native currency", () => {
    const symbol = "native currency";
    const known = new Map([[TOKEN, { symbol, decimals: 18 }]]);
    const moved = { from: VAULT, to: SENDER, amount: 10n ** 18n } as const;
    const lines = shown(
      {
        transfers: [
          { ...moved, token: TOKEN },
          { ...moved, token: "native" },
        ],
      },
      { tokens: known },
    );
    expect(rowsOf("Transfers", lines)).to.deep.equal([
      `1 native currency ${TOKEN} · vault contract · sender`,
      "1 native currency · vault contract · sender",
    ]);
  });

  it("simulate shows each balance with the sign of its difference", () => {
    const token = TOKEN;
    const balances: Simulation["balances"] = [
      { account: VAULT, token, before: 1_234_570n, after: 10n },
      { account: SENDER, token, before: 10n, after: 30n },
      { account: OTHER, token, before: 10n, after: 10n },
    ];
    const known = new Map([[token, { symbol: "TST", decimals: 1 }]]);
    const lines = shown({ balances }, { tokens: known });
    expect(rowsOf("Balances", lines)).to.deep.equal([
      `Vault contract, TST ${TOKEN} · 123,457 · 1 · -123,456`,
      `Sender, TST ${TOKEN} · 1 · 3 · +2`,
      `${OTHER}, TST ${TOKEN} · 1 · 1 · 0`,
    ]);
  });

  const [reading, before] = ["orders.7", 1];
  const closed = { reading, field: "state", before, after: 2 };
  for (const [change, row] of [
    [
      {
        ...{ reading: "round", field: "endTime", before: 0n },
        after: BigInt(context.chainTime) + 60n,
      },
      "Round end · 1970-01-01T00:00:00Z · 2027-01-22T07:59:30Z · in 1m",
    ],
    [
      {
        ...{ reading: "volume", field: "error", before: null },
        after: "VAULT_CALL_REVERTED",
      },
      "Volume error · no error · VAULT_CALL_REVERTED",
    ],
    [closed, "Order 7 state · open (1) · closed (2)"],
    [
      { reading: "pools.public", field: "locked", before: 1n, after: 2n },
      "Public locked · 1 raw · 2 raw",
    ],
  ] satisfies ReadonlyArray<readonly [ReadingChange, string]>) {
    it(`simulate shows a change: ${row}`, () => {
      expect(rowsOf("Changes", shown({ changes: [change] }))).to.deep.equal([
        row,
      ]);
    });
  }

  it("a simulation's document has symbol and decimals of each transfer and balance, null if unknown", () => {
    const transfer = { from: VAULT, to: OTHER, amount: 1n } as const;
    const known = { symbol: "TST", decimals: 6 };
    const none = { symbol: null, decimals: null };
    const own: Transfer = { ...transfer, token: TOKEN };
    const other: Transfer = { ...transfer, token: OTHER };
    const held: BalanceChange = {
      ...{ account: VAULT, token: TOKEN, before: 1n, after: 2n },
    };
    const simulation = {
      ...{ ...simulated, transfers: [own, other] },
      balances: [held],
    };
    const shownTokens = withTokens(simulation, new Map([[TOKEN, known]]));
    expect(shownTokens.transfers).to.deep.equal([
      { ...own, ...known },
      { ...other, ...none },
    ]);
    expect(shownTokens.balances).to.deep.equal([{ ...held, ...known }]);
  });
});

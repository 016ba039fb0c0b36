import { expect } from "chai";

import type { ReadingChange, Simulation } from "../../../src/types.js";
import type {
  Settlement,
  SettlementPreflight,
} from "../../../src/settlement/types.js";
import {
  RAISED_GAS_LIMIT,
  UNKNOWABLE,
} from "../../../src/simulation/engines/engine.js";
import type { Block } from "../../../tasks/output/blocks.js";
import { renderText } from "../../../tasks/output/render-text.js";
import {
  describeEvent,
  earlyWarning,
  preflightBlocks,
  settlementBlocks,
} from "../../../tasks/output/settlement.js";
import {
  describeTransfers,
  simulationBlocks,
} from "../../../tasks/output/simulation.js";
import type { ShownSimulation } from "../../../tasks/output/simulation.js";
import { OPEN_ROUND, settledRound } from "../../helpers/scripted-node.js";
import { squeezed } from "../../helpers/use-tasks.js";

const VAULT = "0x00000000000000000000000000000000000000A1";
const SENDER = "0x00000000000000000000000000000000000000A2";
const TOKEN = "0x00000000000000000000000000000000000000A3";
const OTHER = "0x00000000000000000000000000000000000000A4";

const context = { chainTime: Number(OPEN_ROUND.endTime) - 90, raw: false };
const block = { number: 12, timestamp: 1_700_000_000, hash: null };
const envelope = { network: "live", chainId: 5, block };

/** The lines of blocks, with their tones as `<bad>text</>`. */
function linesOf(blocks: readonly Block[]): string[] {
  const marked =
    (tone: string) =>
    (text: string): string =>
      `<${tone}>${text}</>`;
  const style = {
    ...{ width: Infinity, instance: "" },
    title: (text: string): string => text,
    // Headings of tables and notes beside values are dim, too.
    dim: (text: string): string => text,
    good: marked("good"),
    bad: marked("bad"),
    warn: marked("warn"),
  };
  return squeezed(renderText(blocks, style)).split("\n");
}

const simulated: Simulation = {
  ...{ status: "settled", code: null, reason: null, engine: "simulateV1" },
  ...{ guard: null, gasUsed: 50_000n, block, changes: [], balances: [] },
  ...{ transfers: [], notes: [] },
};

const priceChange: ReadingChange = {
  ...{ reading: "round", field: "settledPrice", before: 0n },
  after: 66_250n * 10n ** 18n,
};

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
        "Nothing was sent to li\\u{1b}ve.",
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
      "Nothing was sent to li\\u{1b}ve.",
    ]);
    expect(shown({ engine: "fork" })).to.include(
      "Executed by · a fork in this process",
    );
  });

  it("the screen of a simulation names the accounts of a transfer by role, and scales by the token's own decimals only", () => {
    const transfers = [
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
    expect(shown({ transfers: null })).to.not.include("Transfers");
  });

  it("the screen of a simulation shows each balance with the sign of its difference", () => {
    const token = TOKEN;
    expect(
      shown(
        {
          balances: [
            { account: VAULT, token, before: 30n, after: 10n },
            { account: SENDER, token, before: 10n, after: 30n },
            { account: OTHER, token, before: 10n, after: 10n },
          ],
        },
        { tokens: new Map([[token, { symbol: "TST", decimals: 1 }]]) },
      ).slice(6, 11),
    ).to.deep.equal([
      "Balances",
      "Account · Before · After · Difference",
      "Vault contract, TST · 3 · 1 · -2",
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
    ];
    const end = (time: bigint): string =>
      new Date(Number(time) * 1_000).toISOString().replace(".000", "");
    expect(shown({ changes }).slice(6, 12)).to.deep.equal([
      "Changes",
      "Reading · Before · After · Note",
      "Round settled price · 0 · 66,250",
      `Round end · ${end(OPEN_ROUND.endTime)} · ${end(BigInt(context.chainTime) + 60n)} · in 1m`,
      "Volume error · no error · VAULT_CALL_REVERTED",
      "Orders.7 state · open (1) · closed (2)",
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

  it("a simulation's document has symbol and decimals of each transfer, null if unknown, and no list if there is none", () => {
    const transfer = { from: VAULT, to: OTHER, amount: 1n };
    const transfers = [TOKEN, OTHER].map((token) => ({ ...transfer, token }));
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
    expect(
      describeTransfers({ ...simulated, transfers: null }, tokens).transfers,
    ).to.equal(null);
  });
});

describe("the screens of a settlement", () => {
  const asked = (
    preflight: Partial<SettlementPreflight> = {},
    from = 12,
  ): string[] =>
    linesOf(
      preflightBlocks(
        {
          ...{ chainId: 5, chainTime: context.chainTime, headAge: null },
          round: OPEN_ROUND,
          contract: { address: VAULT, source: "--at" },
          ...{ guard: null, from: SENDER, signing: "local" },
          ...{ balance: 10n ** 18n, gas: 60_000n },
          ...{ cost: 10n ** 17n, maxCost: 2n * 10n ** 17n },
          ...{ outcome: "succeeds", reason: null, preview: null },
          ...{ warnings: [], tokens: new Map() },
          ...preflight,
        },
        { network: "li\u001bve", chainId: 5 },
        context,
      ),
    ).slice(from);

  it("settle shows who would settle what at which cost, if the node cannot simulate", () => {
    expect(asked({ warnings: ["a wa\u001brning"] }, 0)[0]).to.equal(
      "About to settle this round",
    );
    expect(asked({ warnings: ["a wa\u001brning"] })).to.deep.equal([
      "",
      "Network · li\\u{1b}ve (chain 5)",
      `Vault contract · ${VAULT} · --at`,
      `Signer · ${SENDER} · a key of the configuration`,
      "Balance · 1 · native currency",
      "Gas · 60,000 · limit",
      "Cost · 0.1 · native currency; at most 0.2",
      "Simulated · <good>succeeds</> · by a call, which shows no effect",
      "",
      "<warn>Warning: a wa\\u{1b}rning</>",
      "",
      "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
      "Values marked raw are unscaled integers: their scale is not documented.",
    ]);
  });

  it("settle shows a guard and the gas that the preview used, and of the preview's notes those of this settlement", () => {
    const notes = [UNKNOWABLE, "an o\u001bdd token", RAISED_GAS_LIMIT];
    const lines = asked({ guard: OTHER, preview: { ...simulated, notes } });
    expect(lines).to.include.members([
      "No reading changes, and nothing is transferred.",
      `Guard · ${OTHER} · settles this round and no other, or reverts`,
      "Gas · 60,000 · limit; 50,000 used when simulated",
      "Simulated · <good>succeeds</> · by the node (eth_simulateV1)",
      "<warn>an o\\u{1b}dd token</>",
    ]);
    expect(lines.join("\n"))
      .to.not.include("Not known")
      .and.not.include("gas limit");
  });

  it("settle shows what the preview changes, and says nothing of no change then, nor of a revert", () => {
    const nothing = "No reading changes, and nothing is transferred.";
    const changing = { ...simulated, changes: [priceChange] };
    const lines = asked({ preview: changing });
    expect(lines)
      .to.include("Round settled price · 0 · 66,250")
      .and.not.include(nothing);
    const preview: Simulation = { ...simulated, status: "reverted" };
    expect(asked({ preview })).to.not.include(nothing);
  });

  it("settle shows why a settlement reverts, and no cost then", () => {
    const reverts = { outcome: "reverts", reason: "pau\u001bsed" } as const;
    const lines = asked({ ...reverts, gas: null, cost: null, maxCost: null });
    expect(lines)
      .to.include(
        "Simulated · <bad>reverts: pau\\u{1b}sed</> · by a call, which shows no effect",
      )
      .and.satisfy((all: string[]) =>
        all.every((line) => !/^(?:Gas|Cost) /u.test(line)),
      );
  });

  it("settle shows a call that succeeds and settles nothing as bad, with the preview's reason", () => {
    const reason = "it is id\u001ble";
    const status = "not-settled";
    expect(asked({ preview: { ...simulated, status, reason } })).to.include(
      "Simulated · <bad>succeeds, and does not settle the round: it is id\\u{1b}le</> · by the node (eth_simulateV1)",
    );
  });

  it("settle warns before the round's end with the time to it, and if there is no round", () => {
    const warning = (endTime: bigint): string =>
      linesOf([
        earlyWarning({
          ...{ round: { ...OPEN_ROUND, endTime }, chainTime: 1_700_000_000 },
          ...{ chainId: 5, headAge: null, guard: null, from: SENDER },
          contract: { address: VAULT, source: "" },
          ...{ signing: "local", balance: 0n, gas: 0n, cost: 0n, maxCost: 0n },
          ...{ outcome: "succeeds", reason: null, preview: null },
          ...{ warnings: [], tokens: new Map() },
        }),
      ]).join("\n");
    expect(warning(1_700_000_060n)).to.equal(
      "<bad>WARNING: this round has NOT ended. It ends in 1m, 2023-11-14T22:14:20Z. A settlement now settles it before its end.</>",
    );
    expect(warning(0n)).to.equal(
      "<bad>WARNING: There is no round yet: its end is 0.</>",
    );
  });

  for (const [event, text] of [
    [
      { type: "resuming", hash: "0x12", nonce: 3 },
      "Following the interrupted settlement: transaction 0x12",
    ],
    [
      { type: "resuming", hash: null, nonce: 3 },
      "Following the interrupted settlement: transaction with nonce 3",
    ],
    [{ type: "sending", hash: "0x12", nonce: 3 }, "Transaction 0x12"],
    [
      { type: "sending", hash: null, nonce: 3 },
      "Transaction with nonce 3; the node names its hash",
    ],
    [
      { type: "replacing", kind: "settlement", hash: "0x12", nonce: 3 },
      "Replaced at a higher fee: transaction 0x12",
    ],
    [
      { type: "replacing", kind: "cancellation", hash: "0x12", nonce: 3 },
      "Cancellation: transaction 0x12",
    ],
    [{ type: "hash", hash: "0x12" }, "Transaction 0x12"],
    [{ type: "mined", hash: "0x12", blockNumber: 9 }, "Mined in block 9"],
    [
      { type: "confirmed", hash: "0x12", confirmations: 2, wanted: 3 },
      "Confirmation 2 of 3",
    ],
  ] as const) {
    const { type } = event;
    it(`settle tells of ${type}: ${text}`, () => {
      expect(describeEvent(event)).to.equal(text);
    });
  }

  it("settle tells of trouble as a warning, escaped", () => {
    expect(
      describeEvent({ type: "trouble", message: "lo\u001bst" }),
    ).to.deep.include({ text: "lo\\u{1b}st", tone: "warn" });
  });

  const settlement: Settlement = {
    ...{ status: "settled", code: null, reason: null, hash: "0x12" },
    ...{ hashes: ["0x12"], guard: null, blockNumber: 12, gasUsed: 50_000n },
    ...{ before: null, after: null, preview: null, differences: null },
  };
  const ended = (
    more: Partial<Settlement>,
    at: typeof envelope | undefined = envelope,
  ): string[] =>
    linesOf(settlementBlocks({ ...settlement, ...more }, at, context));

  it("settle tells that the interrupted settlement is finished, with its status and its reason if it has one", () => {
    const told = (more: Partial<Settlement>): unknown =>
      describeEvent({
        type: "resumed",
        settlement: { ...settlement, ...more },
      });
    const finished = "The interrupted settlement is finished: ";
    expect(told({})).to.equal(`${finished}settled`);
    expect(told({ status: "reverted", reason: "w\u001bhy" })).to.equal(
      `${finished}reverted. w\\u{1b}hy`,
    );
  });

  for (const [status, shown] of [
    ["settled", "<good>Settled</>"],
    ["not-settled", "<bad>Not settled</>"],
    ["nothing-to-do", "<warn>Nothing to do</>"],
    ["refused", "<bad>Refused</>"],
    ["reverted", "<bad>Reverted</>"],
    ["unconfirmed", "<bad>Unconfirmed</>"],
    ["cancelled", "<warn>Cancelled</>"],
  ] as const) {
    it(`settle ends with ${shown} for ${status}, the transaction, its gas and the block in the heading`, () => {
      expect(ended({ status, reason: "w\u001bhy" })).to.deep.equal([
        "Settlement · live (chain 5), block 12, 2023-11-14T22:13:20Z",
        `Outcome · ${shown}`,
        "Reason · w\\u{1b}hy",
        "Transaction · 0x12",
        "Gas used · 50,000",
      ]);
    });
  }

  it("settle --assert ends with Settlement needed, without a transaction", () => {
    expect(
      ended({
        ...{ status: "refused", code: "VAULT_SETTLEMENT_NEEDED", hash: null },
        ...{ blockNumber: null, gasUsed: null },
      }),
    ).to.deep.equal([
      "Settlement · live (chain 5), block 12, 2023-11-14T22:13:20Z",
      "Outcome · <warn>Settlement needed</>",
    ]);
  });

  it("settle says that nothing was sent if a simulation reverted, and names a block of its own below the heading", () => {
    expect(
      ended({ status: "reverted", hash: null, blockNumber: null }, undefined),
    ).to.include("Transaction · none: nothing was sent");
    expect(ended({ blockNumber: 11 }).slice(0, 4)).to.deep.equal([
      "Settlement",
      "Outcome · <good>Settled</>",
      "Transaction · 0x12",
      "Block · 11",
    ]);
  });

  it("settle shows what changed of the round, or that nothing did, and neither if one of both is unknown", () => {
    const [before, after] = [OPEN_ROUND, settledRound(OPEN_ROUND)];
    const table = ended({ before, after }).slice(5);
    expect(table[0]).to.equal("Reading · Before · After");
    expect(table).to.include("Round settled · no · yes");
    expect(table.join("\n")).to.not.include("Round strike price");
    const none = "The round did not change.";
    expect(ended({ before, after: before })).to.include(none);
    for (const known of [{ before }, { after }]) {
      expect(ended(known)).to.have.lengthOf(4);
    }
  });

  it("settle compares what happened with the preview once it is mined", () => {
    const compared = (
      differences: Settlement["differences"],
      more: Partial<Settlement> = {},
    ): string[] =>
      ended({ preview: { ...simulated, differences }, ...more }).slice(5);
    const same = "<good>Readings and token transfers are as previewed.</>";
    expect(compared([])).to.deep.equal([same]);
    expect(compared(null)).to.deep.equal([
      "It is not known if it came as previewed.",
    ]);
    expect(
      compared([
        {
          ...{ reading: "round", field: "settledPrice" },
          ...{ previewed: 10n ** 18n, happened: 2n * 10n ** 18n },
        },
      ]),
    ).to.deep.equal([
      "<warn>Not as previewed:</>",
      "",
      "Reading · Previewed · Happened",
      "Round settled price · 1 · 2",
    ]);
    expect(compared([], { blockNumber: null })).to.deep.equal([]);
  });
});

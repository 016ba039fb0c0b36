import { expect } from "chai";

import type { Simulation } from "../../../src/types.js";
import type {
  Settlement,
  SettlementPreflight,
} from "../../../src/settlement/types.js";
import {
  describeEvent,
  earlyWarning,
  preflightBlocks,
  settlementBlocks,
} from "../../../tasks/output/settlement.js";
import { OPEN_ROUND, settledRound } from "../../helpers/scripted-contracts.js";
import {
  OTHER,
  SENDER,
  VAULT,
  block,
  context,
  linesOf,
  priceChange,
  simulated,
} from "../../helpers/screens.js";

const envelope = { network: "live", chainId: 5, block };

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

  it("settle shows a guard, the gas that the preview used, and the preview's notes", () => {
    const notes = ["an o\u001bdd token"];
    const lines = asked({ guard: OTHER, preview: { ...simulated, notes } });
    expect(lines).to.include.members([
      "No reading changes, and nothing is transferred.",
      `Guard · ${OTHER} · settles this round and no other, or reverts`,
      "Gas · 60,000 · limit; 50,000 used when simulated",
      "Simulated · <good>succeeds</> · by the node (eth_simulateV1)",
      "<warn>an o\\u{1b}dd token</>",
    ]);
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
        "Simulated · <bad>reverts</> · by a call, which shows no effect: pau\\u{1b}sed",
      )
      .and.satisfy((all: string[]) =>
        all.every((line) => !/^(?:Gas|Cost) /u.test(line)),
      );
  });

  it("settle shows a call that succeeds and settles nothing as bad, with the preview's reason", () => {
    const reason = "it is id\u001ble";
    const status = "not-settled";
    expect(asked({ preview: { ...simulated, status, reason } })).to.include(
      "Simulated · <bad>succeeds, and does not settle the round</> · by the node (eth_simulateV1): it is id\\u{1b}le",
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
    cost: null,
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

import { expect } from "chai";

import type {
  ReplacementPreflight,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
} from "../../src/settlement/types.js";
import { NO_ROUND } from "../../src/protocol/round.js";
import {
  describeEvent,
  earlyWarning,
  preflightBlocks,
  replacementBlocks,
  settlementBlocks,
} from "../../tasks/settle.js";
import { OPEN_ROUND } from "../helpers/scripted-contracts.js";
import {
  OTHER,
  SENDER,
  VAULT,
  block,
  context,
  linesOf,
  simulated,
} from "../helpers/screens.js";

describe("the screen before a settlement", () => {
  const before: SettlementPreflight = {
    ...{ chainId: 5, chainTime: context.chainTime, headAge: null },
    ...{ round: OPEN_ROUND, contract: { address: VAULT, source: "--at" } },
    ...{ guard: null, from: SENDER, signing: "local", balance: 10n ** 18n },
    ...{ gas: 60_000n, cost: 10n ** 17n, maxCost: 2n * 10n ** 17n },
    ...{ outcome: "succeeds", reason: null, preview: null },
    ...{ warnings: [], tokens: new Map() },
  };
  const asked = (preflight: Partial<SettlementPreflight> = {}): string[] => {
    const preview = { ...before, ...preflight };
    return linesOf(preflightBlocks(preview, "li\u001bve", context)).slice(12);
  };
  const reverting: Partial<SettlementPreflight> = {
    ...{ outcome: "reverts", reason: "pau\u001bsed" },
    ...{ gas: null, cost: null, maxCost: null },
  };

  it("settle shows who would settle what at which cost, with warnings, if the node cannot simulate", () => {
    expect(asked({ warnings: ["a wa\u001brning"] })).to.deep.equal([
      "",
      "Network · li\\u{1b}ve (chain 5)",
      `Vault contract · ${VAULT} · --at`,
      `Signer · ${SENDER} · a key of the configuration`,
      "Balance · 1 · native currency",
      "Gas · 60,000 · limit",
      "Cost · 0.1 · native currency; at most 0.2",
      "Simulated · <good>succeeds</> · by a call, which shows no effect",
      ...["", "<warn>Warning: a wa\\u{1b}rning</>", ""],
      "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
      "Values marked raw are unscaled integers: their scale is not documented.",
    ]);
  });

  for (const [title, preflight, line] of [
    [
      "a guard",
      { guard: OTHER },
      `Guard · ${OTHER} · settles this round and no other, or reverts`,
    ],
    [
      "a note of the preview, escaped",
      { preview: { ...simulated, notes: ["an o\u001bdd token"] } },
      "<warn>an o\\u{1b}dd token</>",
    ],
    [
      "that a preview changes nothing",
      { preview: simulated },
      "No reading changes, and nothing is transferred.",
    ],
    [
      "why a settlement reverts",
      reverting,
      "Simulated · <bad>reverts</> · by a call, which shows no effect: pau\\u{1b}sed",
    ],
    [
      "as bad a call that succeeds and settles nothing, with the preview's reason",
      {
        preview: {
          ...simulated,
          status: "not-settled",
          reason: "it is id\u001ble",
        },
      },
      "Simulated · <bad>succeeds, and does not settle the round</> · by the node (eth_simulateV1): it is id\\u{1b}le",
    ],
  ] satisfies ReadonlyArray<
    readonly [string, Partial<SettlementPreflight>, string]
  >) {
    it(`settle shows ${title}`, () => {
      expect(asked(preflight)).to.include(line);
    });
  }

  it("settle shows no effect of a simulation that reverts, nor that there is none", () => {
    const preview = { ...simulated, status: "reverted" } as const;
    const shown = asked({ ...reverting, preview }).join("\n");
    expect(shown).to.not.include("No reading changes");
  });

  it("settle warns that there is no round yet", () => {
    const round = { ...OPEN_ROUND, endTime: 0n };
    const warning = linesOf([earlyWarning({ ...before, round })]);
    expect(warning).to.deep.equal([`<bad>WARNING: ${NO_ROUND}</>`]);
  });

  it("settle --resume --bump shows the cost until now, and then", () => {
    const replaced: ReplacementPreflight = {
      ...{ chainId: 5, from: SENDER, nonce: 3, hash: null },
      ...{ earlierMaxCost: 10n ** 18n, cost: 2n * 10n ** 18n },
      maxCost: 3n * 10n ** 18n,
    };
    expect(linesOf(replacementBlocks(replaced, "li\u001bve")).slice(1)).to.eql([
      "Network · li\\u{1b}ve (chain 5)",
      `Account · ${SENDER}, nonce 3`,
      "Cost until now · 1 · native currency, at most",
      "Cost then · 2 · native currency; at most 3",
    ]);
  });
});

const settlement: Settlement = {
  ...{ status: "settled", code: null, reason: null, hash: "0x12" },
  ...{ hashes: ["0x12"], guard: null, blockNumber: 12, gasUsed: 50_000n },
  ...{ cost: null, before: null, after: null, preview: null },
  differences: null,
};
const reverted: Settlement = {
  ...{ ...settlement, status: "reverted", reason: "w\u001bhy" },
};

describe("the lines during a settlement", () => {
  const [hash, nonce] = ["0x12", 3] as const;
  for (const [event, text] of [
    [
      { type: "resuming", hash: null, nonce },
      "Following the interrupted settlement: transaction with nonce 3",
    ],
    [
      { type: "sending", hash: null, nonce },
      "Transaction with nonce 3; the node names its hash",
    ],
    [
      { type: "replacing", kind: "cancellation", hash, nonce },
      "Cancellation: transaction 0x12",
    ],
    [
      { type: "resumed", settlement: reverted },
      "The interrupted settlement is finished: reverted. w\\u{1b}hy",
    ],
  ] satisfies ReadonlyArray<
    readonly [Exclude<SettlementEvent, { type: "preflight" }>, string]
  >) {
    it(`settle prints: ${text}`, () => {
      expect(describeEvent(event)).to.equal(text);
    });
  }

  it("settle prints trouble as a warning, escaped", () => {
    expect(
      describeEvent({ type: "trouble", message: "lo\u001bst" }),
    ).to.deep.include({ text: "lo\\u{1b}st", tone: "warn" });
  });
});

describe("the screen after a settlement", () => {
  const envelope = { network: "live", chainId: 5, block };
  const ended = (
    more: Partial<Settlement>,
    at: typeof envelope | undefined = envelope,
  ): string[] =>
    linesOf(settlementBlocks({ ...settlement, ...more }, at, context));

  for (const [status, shown] of [
    ["settled", "<good>Settled</>"],
    ["not-settled", "<bad>Not settled</>"],
    ["refused", "<bad>Refused</>"],
    ["reverted", "<bad>Reverted</>"],
    ["unconfirmed", "<bad>Unconfirmed</>"],
  ] as const) {
    it(`settle ends with ${shown} for ${status}, and the reason, the transaction and its gas`, () => {
      expect(ended({ status, reason: "w\u001bhy" })).to.deep.equal([
        "Settlement · live (chain 5), block 12, 2023-11-14T22:13:20Z",
        ...[`Outcome · ${shown}`, "Reason · w\\u{1b}hy", "Transaction · 0x12"],
        "Gas used · 50,000",
      ]);
    });
  }

  it("settle --assert ends with Settlement needed, without a transaction, and the page of its code", () => {
    const needed: Partial<Settlement> = {
      ...{ status: "refused", code: "VAULT_SETTLEMENT_NEEDED", hash: null },
      ...{ blockNumber: null, gasUsed: null },
    };
    expect(ended(needed)).to.deep.equal([
      "Settlement · live (chain 5), block 12, 2023-11-14T22:13:20Z",
      "Outcome · <warn>Settlement needed</>",
      "",
      "https://hardhat-vault.github.io/hardhat-vault/documents/Error_codes.html#vault_settlement_needed",
    ]);
  });

  it("settle shows that nothing was sent if a simulation reverted", () => {
    const nothing = { hash: null, blockNumber: null };
    const lines = ended({ status: "reverted", ...nothing }, undefined);
    expect(lines).to.include("Transaction · none: nothing was sent");
  });

  for (const [before, lines] of [
    [OPEN_ROUND, ["", "The round did not change."]],
    [null, []],
  ] as const) {
    it(`settle shows "${lines.join("")}" if the round was ${before === null ? "unknown" : "the same"} before`, () => {
      const shown = ended({ before, after: OPEN_ROUND });
      expect(shown.slice(4, 6)).to.deep.equal(lines);
    });
  }

  const difference = {
    ...{ reading: "round", field: "settledPrice" },
    ...{ previewed: 10n ** 18n, happened: 2n * 10n ** 18n },
  };
  for (const [title, differences, blockNumber, lines] of [
    [
      "that it is unknown if it is as previewed",
      null,
      12,
      "It is not known if it came as previewed.",
    ],
    [
      "what is not as previewed",
      [difference],
      12,
      "<warn>Not as previewed:</>\n\nReading · Previewed · Happened\nRound settled price · 1 · 2",
    ],
    ["nothing of a preview until it is mined", [], null, ""],
  ] as const) {
    it(`settle shows ${title}`, () => {
      const preview = { ...simulated, differences };
      const shown = ended({ preview, differences, blockNumber }).slice(5);
      expect(shown.join("\n")).to.equal(lines);
    });
  }
});

import { expect } from "chai";
import { ZeroAddress, toBeHex } from "ethers";

import { UNKNOWN_GENESIS } from "../../src/rpc/blocks.js";
import { Journal } from "../../src/sending/journal.js";
import type {
  Settlement,
  SettlementEvent,
  SettlementPreflight,
} from "../../src/settlement/options.js";
import type { SettleAllOptions } from "../../src/types.js";
import { tasks as definitions } from "../../tasks/definitions.js";
import { parseTaskValues } from "../../tasks/parse-options.js";
import type { RawArgs } from "../../tasks/parse-options.js";
import {
  describeEvent,
  preflightParts,
  settlementParts,
} from "../../tasks/output/settlement.js";
import { settle, toOptions } from "../../tasks/settle.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { HASH, SECOND } from "../helpers/names.js";
import { OPEN_ROUND } from "../helpers/scripted-contracts.js";
import {
  KeptOutput,
  OTHER,
  SENDER,
  VAULT,
  block,
  context,
  linesOf,
  simulated,
} from "../helpers/screens.js";
import {
  OTHER_KEY,
  entry,
  journalSubject,
  keyOf,
  unsignedSettlement,
  useKeeper,
} from "../helpers/keeper.js";
import type { Keeper, NetworkChanges } from "../helpers/keeper.js";
import { squeezed, useTasks } from "../helpers/use-tasks.js";

/** The selector of `decimals()`. */
const DECIMALS = "0x313ce567";
/** The next block's time. */
const NEXT = 1_700_000_006;

const endAt = ({ chain }: Keeper, timestamp: number): void => {
  chain.rounds = chain.rounds.map((round) => ({
    ...round,
    endTime: BigInt(timestamp),
  }));
};
// What a settlement comes to: test/settlement.
describe("vault settle", () => {
  const keeper = useKeeper();

  /** Settles as the task does; without an answer there is no terminal. */
  const run = async (
    typed: RawArgs,
    {
      options = {},
      network = {},
      answer,
    }: {
      readonly options?: SettleAllOptions;
      readonly network?: NetworkChanges;
      readonly answer?: boolean;
    } = {},
  ) => {
    const err = new KeptOutput();
    const questions: string[] = [];
    const ask = async (question: string): Promise<boolean> => {
      questions.push(question);
      return await Promise.resolve(answer ?? false);
    };
    const { json, ok } = await settle(
      keeper.host(network),
      typed,
      { pollingInterval: 1, ...options },
      { err, ask: answer === undefined ? undefined : ask },
    );
    const settlement = fieldsOf(fieldsOf(json)["settlement"]);
    return { settlement, ok, said: err.text, questions };
  };

  it("settle --resume asks nothing, and prints the transaction", async () => {
    const { hash } = await keeper.interrupt();
    const options = { resume: true };
    const { settlement, said, questions, ok } = await run(
      { resume: true },
      { options, answer: false },
    );
    expect(settlement).to.include({ status: "settled" });
    expect(said).to.include(`Transaction ${String(hash)}`);
    expect(questions).to.deep.equal([]);
    expect(ok).to.equal(true);
  });

  it("settle --resume fails if another run found that a token stayed in the guard", async () => {
    const code = "VAULT_GUARD_KEEPS_TOKENS";
    const mined = { blockNumber: 6, hash: HASH };
    const end = { status: "settled", code, mined };
    await keeper.writeJournal(
      { version: 1, ...journalSubject, ...entry, end },
      ".finished",
    );
    const options = { resume: true };
    const { settlement, ok } = await run(options, { options });
    expect(settlement).to.include({ status: "settled", code });
    expect(ok).to.equal(false);
  });

  it("settle that ends unconfirmed names the command that continues it", async () => {
    keeper.stopMining();
    const { settlement, ok } = await run(
      { yes: true, network: "live", confirmations: "3" },
      { options: { confirmations: 3, partial: true, timeout: 60_000 } },
    );
    expect(ok).to.equal(false);
    expect(settlement).to.include({ status: "unconfirmed" });
    expect(settlement["reason"]).to.include(
      " To continue: npx hardhat vault settle --resume --partial --confirmations 3 --network live",
    );
  });

  it("settle --assert, which runs on the machine of the alarm, sends to the keeper, with the options that choose the contracts", async () => {
    const typed = { network: "live", at: "trading=0x1, vault=0x2" };
    const { settlement, ok } = await run(typed, {
      options: { assertOnly: true },
    });
    expect(ok).to.equal(false);
    expect(settlement).to.include({ code: "VAULT_SETTLEMENT_NEEDED" });
    expect(settlement["reason"]).to.include(
      "look there: `npx hardhat vault status --at trading=0x1,vault=0x2 --network live` and `npx hardhat vault doctor --at trading=0x1,vault=0x2 --network live`",
    );
  });

  it("settle --json --yes prints the preview, the hash and trouble on stderr, escaped", async () => {
    keeper.chain.on("eth_getTransactionReceipt", async (_p, answer, seen) => {
      if (seen === 0) {
        throw Object.assign(new Error("no\u001bt now"), { code: -32_601 });
      }
      return await answer();
    });
    const { said } = await run({ json: true, yes: true });
    expect(said).to.match(
      /^About to settle[^]*\nTransaction 0x[\da-f]{64}\n[^]*no\\u\{1b\}t now/u,
    );
  });

  const early = "WARNING: this round has NOT ended. It ends in ";
  for (const [title, prepare, warning] of [
    ["before the round's end", () => undefined, early],
    ["after the round's end", () => endAt(keeper, NEXT), undefined],
    ["if there is no round", () => endAt(keeper, 0), `WARNING: There is no`],
    [
      "if the simulation does not settle the round",
      () => {
        keeper.chain.effect = (round) => round;
        endAt(keeper, NEXT);
      },
      "WARNING: the simulation does NOT settle the round.",
    ],
  ] satisfies ReadonlyArray<
    readonly [string, () => unknown, string | undefined]
  >) {
    it(`settle ${title} asks ${warning === undefined ? "if it is to settle" : `in spite of "${warning}"`}, and sends nothing after a no`, async () => {
      keeper.chain.makeDevelopmentNode();
      prepare();
      const asked = await run({ json: true }, { answer: false });
      const { questions, settlement, ok, said } = asked;
      expect(questions).to.deep.equal([
        warning === undefined
          ? "Settle this round now?"
          : "Settle in spite of the warning?",
      ]);
      expect(said.match(/^WARNING: .*$/gmu) ?? []).to.have.lengthOf(
        warning === undefined ? 0 : 1,
      );
      expect(said).to.include(warning ?? "About to settle");
      expect(settlement).to.include({ code: "VAULT_NOT_CONFIRMED" });
      expect(ok).to.equal(false);
      expect(keeper.sends).to.equal(0);
    });
  }

  it("settle without --json ends after a no with the error that is printed as one line, as after one to deploy-guard: VAULT_NOT_CONFIRMED", async () => {
    const asked = run({}, { answer: false });
    const { message } = await expectVaultError(asked, "VAULT_NOT_CONFIRMED");
    expect(message).to.equal("Cancelled. Nothing was sent.");
    expect(keeper.sends).to.equal(0);
  });

  it("settle without a terminal and without --yes sends nothing: VAULT_NO_TERMINAL", async () => {
    const { settlement, ok } = await run({});
    expect(settlement).to.include({ code: "VAULT_NO_TERMINAL" });
    expect(settlement["reason"]).to.include(
      "Pass --yes to go on without a question. Nothing was sent.",
    );
    expect([ok, keeper.sends]).to.deep.equal([false, 0]);
  });

  for (const [title, typed, answer, reason, signed] of [
    [
      "without a terminal",
      ...[{}, undefined],
      ": The task cannot ask for confirmation, because there is no terminal. Pass --yes to go on without a question. The settlement is still open.",
      1,
    ],
    [
      "after a no",
      ...[{}, false],
      ": Cancelled. The settlement is still open.",
      1,
    ],
    ["after a yes", {}, true, null, 2],
    ["with --yes", { yes: true }, undefined, null, 2],
  ] as const) {
    it(`settle --resume --bump signs ${signed === 1 ? "nothing" : "a second transaction"} ${title}`, async () => {
      await keeper.interrupt();
      const { settlement, questions } = await run(typed, {
        options: { resume: true, bump: true },
        ...(answer === undefined ? {} : { answer }),
      });
      expect(settlement["hashes"]).to.have.lengthOf(signed);
      if (reason !== null) {
        expect(settlement["reason"]).to.include(reason);
      }
      expect(questions).to.have.lengthOf(answer === undefined ? 0 : 1);
      expect(questions.join("")).to.match(
        /^(?:Raise the highest cost from 0\.\d+ to 0\.\d+ native currency\?)?$/u,
      );
    });
  }

  it("settle --partial exits with 0 after a step that leaves the round open", async () => {
    keeper.chain.effect = (round) => ({ ...round, filledVolume: 7n });
    const { settlement, ok } = await run(
      { yes: true, partial: true },
      { options: { partial: true } },
    );
    expect(settlement).to.include({ status: "not-settled", code: null });
    expect(ok).to.equal(true);
  });

  it("settle --partial exits with 1 if another round is there after the step", async () => {
    keeper.chain.effect = (round) => ({ ...round, strikePrice: 1n });
    const { settlement, ok } = await run(
      { yes: true, partial: true },
      { options: { partial: true } },
    );
    expect(settlement).to.include({ status: "not-settled" });
    expect(ok).to.equal(false);
  });

  it("settle --resume --bump without the key says that the settlement is open, and how to continue", async () => {
    await keeper.interrupt();
    keeper.chain.on("eth_accounts", () => []);
    const { settlement, ok } = await run(
      { resume: true, bump: true },
      {
        options: { resume: true, bump: true },
        network: { accounts: [keyOf(OTHER_KEY)] },
      },
    );
    expect(settlement).to.include({ code: "VAULT_UNKNOWN_SIGNER" });
    expect(settlement["reason"])
      .to.include("is still open. To continue: npx hardhat vault settle")
      .and.not.include("Nothing was sent");
    expect(ok).to.equal(false);
  });

  it("settle exits with 0 after a cancellation", async () => {
    await keeper.interrupt();
    const options = { resume: true, cancel: true } as const;
    const { settlement, ok } = await run({ resume: true }, { options });
    expect(settlement).to.include({ status: "cancelled" });
    expect(ok).to.equal(true);
  });

  it("settle settles, with a token by its address, if the node does not answer for its symbol", async () => {
    keeper.chain.on("eth_call", async ([call], answer) => {
      if (fieldsOf(call)["data"] === DECIMALS) {
        throw Object.assign(new Error("late"), { name: "TimeoutError" });
      }
      return await answer();
    });
    const { settlement, ok } = await run({ yes: true });
    expect(settlement)
      .to.have.nested.property("preview.transfers[0]")
      .that.includes({ symbol: null, decimals: null });
    expect(ok).to.equal(true);
  });

  it("settle's document has the decimals of each token in the preview's transfers", async () => {
    keeper.chain.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["data"] === DECIMALS ? toBeHex(6, 32) : await answer(),
    );
    const { settlement } = await run({ yes: true });
    expect(settlement)
      .to.have.nested.property("preview.transfers[0]")
      .that.includes({ decimals: 6, amount: 5n });
  });
});

describe("options of vault settle", () => {
  const none = {
    ...{ ifExpired: false, partial: false, assertOnly: false },
    ...{ resume: false, resumeFirst: false, bump: false, cancel: false },
    ...{ maxFeePerGas: undefined, from: undefined, confirmations: undefined },
    ...{ timeout: undefined, tokens: undefined, retryReverted: false },
  };
  const values = { maxFeePerGas: "2wei", confirmations: "3", timeout: "4" };
  const parsed = { maxFeePerGas: 2n, confirmations: 3, timeout: 4_000 };
  for (const [typed, expected] of [
    [{ ifExpired: true }, { ifExpired: true }],
    [{ partial: true }, { partial: true }],
    [{ assert: true }, { assertOnly: true }],
    [{ yes: true }, { resumeFirst: true }],
    [{ yes: true, resume: true }, { resume: true }],
    [{ resume: true, bump: true }, "typed"],
    [{ resume: true, cancel: true }, "typed"],
    [{ from: SECOND }, "typed"],
    [{ tokens: "none" }, { tokens: [] }],
    [
      { yes: true, retryReverted: true },
      { resumeFirst: true, retryReverted: true },
    ],
    [values, parsed],
  ] as const) {
    it(`settle gives settleAll the options of ${JSON.stringify(typed)}`, () => {
      const options = toOptions(parseTaskValues(definitions.settle, typed));
      const changed = expected === "typed" ? typed : expected;
      expect(options).to.deep.equal({ ...none, ...changed });
    });
  }
});

describe("vault settle on a node", () => {
  const tasks = useTasks();

  it("settle --yes previews on stderr, prints the outcome on stdout, and the second time has nothing to do", async () => {
    const first = await tasks.run("settle --yes");
    expect(first.exitCode).to.equal(0);
    expect(first.stderr).to.match(/^About to settle[^]*Mined in block \d+\n$/u);
    expect(squeezed(first.stdout)).to.match(
      /^Settlement[^]*Outcome · Settled/u,
    );
    const { settlement } = await tasks.documentOf("settle --yes");
    expect(settlement).to.include({ status: "nothing-to-do", code: null });
  });

  it("settle --calldata prints the call, with the gas of --from only, and warns if that has code", async () => {
    const { vault } = tasks.mocks.addresses;
    expect(await tasks.documentOf("settle --calldata")).to.include({
      ...{ to: vault, data: "0xa015aefe", value: "0", estimatedGas: null },
    });
    const from = await tasks.run(`settle --calldata --from ${vault}`);
    expect(fieldsOf(JSON.parse(from.stdout))["estimatedGas"]).to.match(
      /^\d{5,7}$/u,
    );
    expect(from.stderr).to.include("Warning: The sender has code");
  });

  it("settle --calldata warns that the sender would be refused, with the block and the reason", async () => {
    await tasks.mocks.fail("settleAll", "not\u001b[2J yet.");
    const { number, timestamp } = await tasks.mocks.vault.block();
    const { stdout, stderr, exitCode } = await tasks.run("settle --calldata");
    expect(exitCode).to.equal(0);
    expect(JSON.parse(stdout))
      .to.have.property("block")
      .that.deep.equals({ number, timestamp });
    expect(stderr).to.include(
      `Warning: ${ZeroAddress} would see this call refused at block ${number}: not\\u{1b}[2J yet. The round`,
    );
  });

  it("settle --calldata warns of a settlement that is under way", async () => {
    const { vault } = tasks.mocks.addresses;
    const journal = new Journal(process.cwd(), {
      ...{ ...journalSubject, chainKind: "development", vault },
      genesisHash: UNKNOWN_GENESIS,
    });
    const sent = { ...unsignedSettlement, to: vault, hash: HASH };
    await journal.begin({ ...entry, transactions: [sent] });
    const { stderr } = await tasks.run("settle --calldata");
    expect(stderr).to.include("Warning: a settlement is under way already: ");
  });

  it("settle --calldata --safe prints a batch of Safe's Transaction Builder", async () => {
    const { stdout } = await tasks.run("settle --calldata --safe");
    const batch = fieldsOf(JSON.parse(stdout));
    expect(batch).to.include({ version: "1.0", chainId: "31337" });
    expect(batch["meta"]).to.have.property("checksum").that.matches(/^0x/u);
    expect(batch).to.have.nested.property(
      "transactions[0].to",
      tasks.mocks.addresses.vault,
    );
  });
});

describe("the screen before a settlement", () => {
  const before: SettlementPreflight = {
    ...{ chainId: 5, chainTime: context.chainTime },
    ...{ round: OPEN_ROUND, contract: { address: VAULT, source: "--at" } },
    ...{ guard: null, from: SENDER, signing: "local", balance: 10n ** 18n },
    ...{ gas: 60_000n, cost: 10n ** 17n, maxCost: 2n * 10n ** 17n },
    ...{ outcome: "succeeds", reason: null, preview: null },
    tokens: new Map(),
  };
  const asked = (preflight: Partial<SettlementPreflight> = {}): string[] => {
    const preview = { ...before, ...preflight };
    return linesOf(preflightParts(preview, "li\u001bve", context)).slice(12);
  };

  it("settle shows who would settle what at which cost if the node cannot simulate, and that the round has not ended", () => {
    expect(asked()).to.deep.equal([
      ...["", "A plain call succeeds. It shows no effect.", ""],
      "Network · li\\u{1b}ve (chain 5)",
      `Vault contract · ${VAULT} · --at`,
      `Signer · ${SENDER} · a key of the configuration`,
      "Balance · 1 native currency",
      "Cost · 0.1 native currency; at most 0.2",
      ...[
        "",
        "<bad>WARNING: this round has NOT ended. It ends in 1m 30s.</>",
        "",
      ],
      "Values marked raw are unscaled integers: see tokenDecimals and displayDecimals.",
    ]);
  });

  for (const [title, preflight, line] of [
    ["a guard", { guard: OTHER }, `Guard · ${OTHER}`],
    [
      "a note of the preview, escaped",
      { preview: { ...simulated, notes: ["an o\u001bdd token"] } },
      "<warn>an o\\u{1b}dd token</>",
    ],
    [
      "that a call reverts",
      { outcome: "reverts", reason: "paused", cost: null, maxCost: null },
      "A plain call reverts. It shows no effect.",
    ],
    [
      "a call that succeeds and settles nothing, with the preview's reason",
      {
        preview: {
          ...simulated,
          status: "not-settled",
          reason: "it is id\u001ble",
        },
      },
      "Reason · it is id\\u{1b}le",
    ],
  ] satisfies ReadonlyArray<
    readonly [string, Partial<SettlementPreflight>, string]
  >) {
    it(`settle shows ${title}`, () => {
      expect(asked(preflight)).to.include(line);
    });
  }
});

const settlement: Settlement = {
  ...{ status: "settled", code: null, reason: null, hash: "0x12" },
  ...{ hashes: ["0x12"], guard: null, blockNumber: 12, gasUsed: 50_000n },
  ...{ cost: null, before: null, after: null, preview: null },
  differences: null,
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
      "Transaction handed to the node, which returns its hash",
    ],
    [
      { type: "replacing", kind: "cancellation", hash, nonce },
      "Cancellation: transaction 0x12",
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
    linesOf(settlementParts({ ...settlement, ...more }, at, context));

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
        ...[`Outcome · ${shown}`, "Reason · w\\u{1b}hy", "Gas used · 50,000"],
        ...["Transaction · 0x12", "In block · 12"],
      ]);
    });
  }

  it("settle ends with a reason in red if the round is settled and a token stayed in the guard", () => {
    const code = "VAULT_GUARD_KEEPS_TOKENS";
    const lines = ended({ status: "settled", code, reason: "it stays" });
    expect(lines.slice(1, 3)).to.deep.equal([
      ...["Outcome · <bad>Settled</>", "Reason · <bad>it stays</>"],
    ]);
  });

  it("settle --assert ends without a transaction, and the page of its code", () => {
    const needed: Partial<Settlement> = {
      ...{ status: "refused", code: "VAULT_SETTLEMENT_NEEDED", hash: null },
      ...{ blockNumber: null, gasUsed: null },
    };
    expect(ended(needed)).to.deep.equal([
      "Settlement · live (chain 5), block 12, 2023-11-14T22:13:20Z",
      "Outcome · <bad>Refused</>",
      "",
      "https://hardhat-vault.github.io/hardhat-vault/documents/Error_codes.html#vault_settlement_needed",
    ]);
  });

  it("settle ends unconfirmed with the command that continues it, and how to replace it", () => {
    const resume = "npx hardhat vault settle --resume";
    const unconfirmed = { ...settlement, status: "unconfirmed" } as const;
    expect(
      linesOf(settlementParts(unconfirmed, envelope, context, resume)),
    ).to.include(
      "To continue: `npx hardhat vault settle --resume`. If it stays, raise its fee with --bump, or give it up with --cancel.",
    );
  });

  it("settle shows that nothing was sent if a simulation reverted", () => {
    const nothing = { hash: null, blockNumber: null };
    const lines = ended({ status: "reverted", ...nothing }, undefined);
    expect(lines).to.include("Transaction · none: nothing was sent");
  });

  const difference = {
    ...{ reading: "round", field: "settledPrice" },
    ...{ previewed: 10n ** 18n, happened: 2n * 10n ** 18n },
  };
  for (const [title, differences, lines] of [
    ["nothing of the preview if nothing was compared", null, []],
    [
      "that all is as previewed",
      [],
      ["", "<good>Readings and token transfers are as previewed.</>"],
    ],
    [
      "what is not as previewed",
      [difference],
      [
        ...["", "Not as previewed", "Reading · Previewed · Happened"],
        "Round settled price · 1 · 2",
      ],
    ],
  ] as const) {
    it(`settle shows ${title}`, () => {
      expect(ended({ preview: simulated, differences }).slice(5)).to.deep.equal(
        lines,
      );
    });
  }

  it("settle shows how the round changed", () => {
    const after = { ...OPEN_ROUND, settled: true };
    expect(ended({ before: OPEN_ROUND, after }).slice(5)).to.deep.equal([
      ...["", "Reading · Before · After", "Round settled · no · yes"],
    ]);
  });
});

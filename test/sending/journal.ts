import fs, { existsSync } from "node:fs";
import { mkdir, readFile, readdir, utimes, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { mock } from "node:test";

import { expect } from "chai";
import { Wallet, keccak256 } from "ethers";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import { UNKNOWN_GENESIS } from "../../src/rpc/blocks.js";
import type { JournalEntry } from "../../src/sending/journal.js";
import { Journal } from "../../src/sending/journal.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  GUARD,
  JOURNAL_FILE,
  OTHER_KEY,
  entry as sent,
  itSettles,
  journalSubject,
  keyOf,
  unsignedSettlement,
  useKeeper,
} from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import {
  FACTORY,
  GENESIS,
  KEY,
  OPEN_ROUND,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const entry: JournalEntry = { ...sent, transactions: [unsignedSettlement] };
const resume = { resume: true } as const;

describe("Journal", () => {
  const keeper = useKeeper();
  const journal = (genesisHash = GENESIS): Journal =>
    new Journal(keeper.projectRoot, { ...journalSubject, genesisHash });

  it("begins once, then throws VAULT_SETTLEMENT_UNFINISHED until it is finished", async () => {
    await journal().begin(entry);
    for (const work of [
      journal().refuseUnfinishedElseClear(),
      journal().begin(entry),
    ]) {
      const { message } = await expectVaultError(
        work,
        "VAULT_SETTLEMENT_UNFINISHED",
      );
      expect(message).to.include("nonce 7").and.include(JOURNAL_FILE);
    }
    await journal().finish(entry);
    await journal().refuseUnfinishedElseClear();
    await journal().begin(entry);
  });

  for (const chainKind of ["live", "development"] as const) {
    it(`is ${chainKind === "live" ? "not " : ""}begun on a ${chainKind} chain after another process that began one at the same moment, and has finished it`, async () => {
      const subject = { ...journalSubject, chainKind };
      const other = new Journal(keeper.projectRoot, subject);
      await other.begin(entry);
      class Late extends Journal {
        public override async refuseUnfinishedElseClear(): Promise<void> {
          await other.finish(entry);
          await super.refuseUnfinishedElseClear();
        }
      }
      const beginning = new Late(keeper.projectRoot, subject).begin(entry);
      if (chainKind === "live") {
        await expectVaultError(beginning, "VAULT_JOURNAL_NOT_WRITTEN");
      } else {
        await beginning;
      }
      const begun = await other.read();
      expect(begun?.round).to.deep.equal(
        chainKind === "live" ? undefined : entry.round,
      );
    });
  }

  it("is begun by one of twenty at once; the others get VAULT_SETTLEMENT_UNFINISHED", async () => {
    const begun = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, nonce) => {
        const transactions = [{ ...unsignedSettlement, nonce }] as const;
        await journal().begin({ ...entry, transactions: [...transactions] });
      }),
    );
    const kept = begun.findIndex(({ status }) => status === "fulfilled");
    expect((await journal().read())?.transactions[0].nonce).to.equal(kept);
    const codes = begun.map((one) =>
      one.status === "rejected" ? fieldsOf(one.reason)["code"] : "kept",
    );
    expect(codes.filter((_, nonce) => nonce !== kept)).to.deep.equal(
      Array.from({ length: 19 }, () => "VAULT_SETTLEMENT_UNFINISHED"),
    );
  });

  for (const [title, changes] of [
    ["another nonce", { nonce: 1 }],
    ["another account", { from: FACTORY }],
    ["a later start", { preparedAt: unsignedSettlement.preparedAt + 1 }],
  ] as const) {
    it(`is neither updated nor finished for a settlement with ${title}`, async () => {
      await journal().begin(entry);
      const other = { ...unsignedSettlement, ...changes };
      const others = { ...entry, transactions: [other] } satisfies JournalEntry;
      expect(await journal().update(others)).to.equal(false);
      await journal().finish(others);
      expect(await journal().abandon(others)).to.equal(false);
      expect(await journal().read()).to.deep.include(entry);
    });
  }

  it("is updated by its settlement, and kept when that is finished", async () => {
    await journal().begin(entry);
    await journal().update({ ...entry, sentAfterBlock: 6 });
    expect(await journal().read()).to.include({ sentAfterBlock: 6 });
    await journal().finish(entry);
    expect(await journal().read()).to.equal(undefined);
    expect(await journal().readFinished()).to.deep.include(entry);
  });

  it("knows a revert of its round that was paid for, however later runs ended", async () => {
    const mined = { blockNumber: 6, hash: HASH };
    for (const end of [
      { status: "reverted", mined },
      ...[{ status: "cancelled" }, { status: "cancelled" }],
    ]) {
      await journal().begin(entry);
      await journal().finish({ ...entry, end });
      const found = await journal().findRevertBefore("main", entry.round);
      expect(found?.details).to.include({ hash: HASH, block: 6 });
    }
  });

  it("stays with the process that resumed it", async () => {
    await journal().begin(entry);
    await journal().update({ ...entry, resumed: true });
    await journal().update(entry);
    expect(await journal().abandon(entry)).to.equal(false);
    expect(await journal().read()).to.include({ resumed: true });
    await journal().finish(entry);
    expect(await journal().abandon(entry)).to.equal(false);
  });

  it("is not written over by a process that lacks a transaction of another", async () => {
    await keeper.interrupt();
    const begun = await journal().read();
    if (begun === undefined) {
      throw new Error("there is no journal");
    }
    const [signed] = begun.transactions;
    const cancellationAt = async (maxFeePerGas: bigint) => {
      const fees = { maxFeePerGas, maxPriorityFeePerGas: 1n };
      const raw = await new Wallet(KEY).signTransaction({
        ...{ type: 2, to: SETTLER, chainId: 31_337, nonce: signed.nonce },
        ...{ gasLimit: 21_000n, ...fees },
      });
      const hash = `0x${keccak256(raw).slice(2)}` as const;
      return {
        ...{ ...signed, kind: "cancellation" as const, to: SETTLER },
        ...{ data: "0x", gas: 21_000n, fees, raw, hash },
      };
    };
    const [theirs, own] = [await cancellationAt(9n), await cancellationAt(11n)];
    await journal().update({ ...begun, transactions: [signed, theirs] });
    expect(await journal().update(begun)).to.equal(false);
    const lacking: JournalEntry = { ...begun, transactions: [signed, own] };
    expect(await journal().update(lacking)).to.equal(false);
    const transactions: JournalEntry["transactions"] = [signed, theirs, own];
    await journal().update({ ...begun, transactions });
    expect(await journal().read()).to.deep.include({ transactions });
  });

  it("locks nothing, and resumes nothing, once it is finished on another chain", async () => {
    const elsewhere = journal(OTHER_HASH);
    await elsewhere.begin(entry);
    await elsewhere.finish(entry);
    await journal().refuseUnfinishedElseClear();
    expect(await journal().readFinished()).to.equal(undefined);
  });

  it("throws VAULT_JOURNAL_NOT_WRITTEN if a folder has the name of the finished one", async () => {
    await journal().begin(entry);
    await mkdir(path.join(keeper.projectRoot, journal().finishedFile));
    const finishing = journal().finish(entry);
    await expectVaultError(finishing, "VAULT_JOURNAL_NOT_WRITTEN");
    expect(await journal().read()).to.deep.include(entry);
  });

  for (const [genesisHash, locks] of [
    [UNKNOWN_GENESIS, true],
    [OTHER_HASH, false],
  ] as const) {
    it(`of a development node locks (${locks}) if the first block is ${genesisHash.slice(0, 7)} by then`, async () => {
      const on = (genesis: string): Journal =>
        new Journal(keeper.projectRoot, {
          ...{ ...journalSubject, chainKind: "development" },
          genesisHash: genesis,
        });
      await on(GENESIS).begin(entry);
      expect((await on(genesisHash).read()) !== undefined).to.equal(locks);
    });
  }

  it("throws VAULT_JOURNAL_NOT_WRITTEN if it cannot be written", async () => {
    await writeFile(path.dirname(keeper.journalFile()), "a file");
    expect(await journal().read()).to.equal(undefined);
    const { message } = await expectVaultError(
      journal().begin(entry),
      "VAULT_JOURNAL_NOT_WRITTEN",
    );
    expect(message).to.match(/EEXIST|ENOTDIR/u);
  });

  for (const code of ["EACCES", "EPERM"]) {
    it(`is given to the user, not deleted, if only another user may read it: ${code}`, async () => {
      const method = mock.method(fs.promises, "readFile", async () => {
        const problem = new Error(`${code}: not permitted`);
        throw await Promise.resolve(Object.assign(problem, { code }));
      });
      syncBuiltinESMExports();
      const reading = journal().read();
      const { message } = await expectVaultError(
        reading,
        "VAULT_INVALID_JOURNAL",
      ).finally(() => {
        // Not `mock.restoreAll()`, which brings the mocks of earlier files back.
        method.mock.restore();
        syncBuiltinESMExports();
      });
      expect(message).to.include("chown").and.include("not delete it");
    });
  }
});

describe("the journal of settleAll", () => {
  const keeper = useKeeper();
  beforeEach(() => {
    // A node may have pruned a first block that is so far back.
    keeper.chain.rounds = Array.from({ length: 200 }, () => OPEN_ROUND);
  });
  const text = async (): Promise<string> =>
    await readFile(keeper.journalFile(), "utf8");

  itSettles(keeper, [
    {
      title:
        "is not begun if another process begins one while it asks: VAULT_SETTLEMENT_UNFINISHED",
      options: {
        confirm: async () => {
          await keeper.writeJournal({ version: 1, ...journalSubject, ...sent });
          return true;
        },
      },
      is: { code: "VAULT_SETTLEMENT_UNFINISHED", hash: HASH },
      says: ["the option `resume`", JOURNAL_FILE],
    },
  ]);

  for (const [title, genesis, found] of [
    ["another", OTHER_HASH, OTHER_HASH],
    ["no", undefined, "nothing"],
  ] as const) {
    it(`locks if the node has ${title} first block: VAULT_JOURNAL_OF_OTHER_CHAIN`, async () => {
      const { hash } = await keeper.interrupt();
      const before = await text();
      keeper.changeGenesis(genesis);
      for (const options of [{}, resume, { resumeFirst: true }]) {
        const { code, reason } = await keeper.settle(options);
        expect(code).to.equal("VAULT_JOURNAL_OF_OTHER_CHAIN");
        expect(reason).to.include(JOURNAL_FILE).and.include("delete the file");
        expect(reason).to.include(`the node answers ${found} for`);
        expect(reason).to.include(GENESIS).and.include(SETTLER);
      }
      expect(await text()).to.equal(before);
      expect(keeper.sends).to.equal(0);
      keeper.changeGenesis(GENESIS);
      expect(await keeper.settle(resume)).to.include({
        ...{ status: "settled", hash },
      });
    });
  }

  it("is resumed on a node with the first block if it was begun on one without", async () => {
    keeper.changeGenesis(undefined);
    const { hash } = await keeper.interrupt();
    expect(await keeper.settle(resume)).to.include({ status: "settled", hash });
  });

  it("stays unfinished if resume with cancel lacks the key: VAULT_UNKNOWN_SIGNER", async () => {
    const { hash } = await keeper.interrupt();
    keeper.chain.on("eth_accounts", () => []);
    const cancel = { ...resume, cancel: true };
    const network = { accounts: [keyOf(OTHER_KEY)] };
    const { settlement, isFinal } = await keeper.end(cancel, network);
    expect(settlement).to.deep.include({
      ...{ code: "VAULT_UNKNOWN_SIGNER", hash, before: OPEN_ROUND },
    });
    expect(settlement.reason).to.match(/The settlement is still open\.$/u);
    expect(settlement.reason).to.not.include("Nothing was sent");
    expect(isFinal).to.equal(false);
    expect(existsSync(keeper.journalFile())).to.equal(true);
  });

  it("is neither seen nor finished by a fork with its chain id and first block", async () => {
    const { hash } = await keeper.interrupt();
    const before = await text();
    keeper.chain.makeDevelopmentNode();
    const onFork = await keeper.settle(resume);
    expect(onFork).to.include({ code: "VAULT_NOTHING_TO_RESUME" });
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(await text()).to.equal(before);
    expect(existsSync(keeper.journalFile(".finished"))).to.equal(false);
    // The fork is discarded: the live chain is where it was.
    keeper.chain = new ScriptedNode();
    expect(await keeper.settle(resume)).to.include({ status: "settled", hash });
  });

  it("is not that of a fork that takes the place of a connection's node", async () => {
    const host = keeper.host();
    keeper.loseTransactions();
    await keeper.end({}, host);
    keeper.chain.makeDevelopmentNode();
    const { settlement, block } = await keeper.end(resume, host);
    expect(settlement).to.include({ code: "VAULT_NOTHING_TO_RESUME" });
    expect(block).to.include({ number: 199 });
    expect(existsSync(keeper.journalFile())).to.equal(true);
  });

  it("of a development node leaves no file once it is finished", async () => {
    keeper.chain.makeDevelopmentNode();
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(await readdir(path.dirname(keeper.journalFile()))).to.deep.equal([]);
  });

  it("of a development node that was restarted makes way for the next settlement", async () => {
    keeper.chain.makeDevelopmentNode();
    keeper.loseTransactions();
    await keeper.settle();
    const locked = await keeper.settle();
    expect(locked).to.include({ code: "VAULT_SETTLEMENT_UNFINISHED" });
    keeper.chain = new ScriptedNode();
    keeper.chain.makeDevelopmentNode();
    keeper.changeGenesis(OTHER_HASH);
    const resumed = await keeper.settle(resume);
    expect(resumed).to.include({ code: "VAULT_NOTHING_TO_RESUME" });
    expect(await keeper.settle()).to.include({ status: "settled" });
  });

  for (const isFork of [true, false]) {
    it(`is not begun if a node takes another's place while it asks: VAULT_CHAIN_CHANGED, of a fork: ${isFork}`, async () => {
      const change = (toFork: boolean): void => {
        keeper.chain.on("hardhat_metadata", () => ({}));
        if (toFork) {
          keeper.chain.makeDevelopmentNode();
        }
      };
      change(isFork);
      const settling = keeper.settle({
        confirm: async () => {
          change(!isFork);
          return await Promise.resolve(true);
        },
      });
      await expectVaultError(settling, "VAULT_CHAIN_CHANGED");
      expect(keeper.sends).to.equal(0);
      expect(existsSync(keeper.journalFile())).to.equal(false);
    });
  }
});

type Content = Readonly<Record<string, unknown>>;

describe("the file of a journal", () => {
  const keeper = useKeeper();
  const content: Content = { version: 1, ...journalSubject, ...sent };
  const read = async () =>
    await new Journal(keeper.projectRoot, journalSubject).read();
  const changedBy =
    (changes: object) =>
    (unsent: Content): Content => ({ ...unsent, ...changes });
  /** Changes the first transaction, or adds one like it. */
  const transaction =
    (changes: object, isAdded = false) =>
    (unsent: Content): Content => {
      const [first] = listOf(unsent["transactions"]).map(fieldsOf);
      const changed = { ...first, ...changes };
      const transactions = isAdded ? [first, changed] : [changed];
      return { ...unsent, transactions };
    };
  const unsigned = { raw: undefined, hash: undefined };
  /** A journal whose transaction settles this through the guard, with more data. */
  const throughGuard = (of: string, changes = {}, more = "") => {
    const data = encodeGuarded(of, {
      ...{ factory: FACTORY, round: { ...OPEN_ROUND, ...changes } },
      ...{ mustHaveEnded: false, mustSettle: true, tokens: [] },
    });
    const called = { ...unsignedSettlement, to: GUARD, data: `${data}${more}` };
    return { ...content, guard: GUARD, transactions: [called] };
  };
  for (const [age, isOld] of [
    [61, true],
    [0, false],
  ] as const) {
    it(`that is empty for ${age} s ${isOld ? "shows that nothing was sent" : "may be written now, and is kept"}`, async () => {
      await keeper.writeJournal("");
      const then = Date.now() / 1_000 - age;
      await utimes(keeper.journalFile(), then, then);
      if (isOld) {
        expect(await keeper.settle()).to.include({ status: "settled" });
      } else {
        const settling = keeper.settle();
        await expectVaultError(settling, "VAULT_INVALID_JOURNAL");
        expect(await readFile(keeper.journalFile(), "utf8")).to.equal("");
      }
    });
  }

  const NOT_ITS_OWN = "a transaction in it is not of its settlement";

  const invalid: ReadonlyArray<
    readonly [title: string, change: (unsent: Content) => unknown, says: string]
  > = [
    ["it is cut", (unsent) => JSON.stringify(unsent).slice(0, 300), "not JSON"],
    ["it is of a later version", changedBy({ version: 2 }), "version"],
    ["it lacks a part", changedBy({ round: undefined }), "round"],
    ["it has another part", changedBy({ extra: 1 }), "Unrecognized key"],
    [
      "it is of another chain",
      changedBy({ chainId: 1 }),
      `vault ${VAULT.toLowerCase()} on live chain 1, not of vault ${VAULT.toLowerCase()} on live chain 31337`,
    ],
    [
      "it is of a development node",
      changedBy({ chainKind: "development" }),
      "on development chain 31337, not of vault",
    ],
    [
      "it is of another vault",
      changedBy({ vault: FACTORY }),
      `vault ${FACTORY.toLowerCase()} on live chain 31337, not of vault`,
    ],
    [
      "its round has no number",
      changedBy({ round: { ...OPEN_ROUND, APY: "1x" } }),
      "round.APY",
    ],
    [
      "its transaction is of another chain",
      transaction({ ...unsigned, chainId: 1 }),
      NOT_ITS_OWN,
    ],
    [
      "its transaction goes elsewhere",
      transaction({ ...unsigned, to: FACTORY }),
      NOT_ITS_OWN,
    ],
    [
      "its transaction calls something else",
      transaction({ ...unsigned, data: "0x12345678" }),
      NOT_ITS_OWN,
    ],
    [
      "its signed bytes are of another transaction",
      transaction({ nonce: 77 }),
      NOT_ITS_OWN,
    ],
    [
      "its cancellation does something else",
      transaction(
        { ...unsigned, kind: "cancellation", to: SETTLER, data: "0x12" },
        true,
      ),
      NOT_ITS_OWN,
    ],
    [
      "its transactions are of two accounts",
      transaction({ ...unsigned, from: FACTORY }, true),
      NOT_ITS_OWN,
    ],
    [
      "its transactions have two nonces",
      transaction({ ...unsigned, nonce: 77 }, true),
      NOT_ITS_OWN,
    ],
    [
      "its cancellation goes elsewhere",
      transaction(
        { ...unsigned, kind: "cancellation", to: FACTORY, data: "0x" },
        true,
      ),
      NOT_ITS_OWN,
    ],
    [
      "the signed bytes of its cancellation are of another transaction",
      transaction({ kind: "cancellation", to: SETTLER, data: "0x" }, true),
      NOT_ITS_OWN,
    ],
    [
      "its guard settles another vault",
      () => throughGuard(FACTORY),
      NOT_ITS_OWN,
    ],
    [
      "its guard settles a round with another start",
      () => throughGuard(VAULT, { startTime: 1n }),
      NOT_ITS_OWN,
    ],
    [
      "the call of its guard has more data",
      () => throughGuard(VAULT, {}, "00"),
      NOT_ITS_OWN,
    ],
    ["its guard is another one", changedBy({ guard: GUARD }), NOT_ITS_OWN],
  ];
  for (const [title, change, says] of invalid) {
    it(`is refused with VAULT_INVALID_JOURNAL if ${title}`, async () => {
      await keeper.interrupt();
      await keeper.writeJournal(change(await keeper.journal()));
      const { message } = await expectVaultError(
        read(),
        "VAULT_INVALID_JOURNAL",
      );
      expect(message).to.include(says).and.include(JOURNAL_FILE);
    });
  }

  for (const resumes of [false, true]) {
    it(`is kept by settleAll, which throws, if it is not valid (resume: ${resumes})`, async () => {
      await keeper.interrupt();
      await keeper.writeJournal({ ...(await keeper.journal()), version: 2 });
      const before = await readFile(keeper.journalFile(), "utf8");
      await expectVaultError(
        keeper.settle({ resume: resumes }),
        "VAULT_INVALID_JOURNAL",
      );
      expect(await readFile(keeper.journalFile(), "utf8")).to.equal(before);
      expect(keeper.sends).to.equal(0);
    });
  }

  it("is valid if its guard settles its round", async () => {
    await keeper.writeJournal(throughGuard(VAULT));
    expect(await read()).to.deep.include({ guard: GUARD });
  });

  it("is valid if it has the vault in lower case", async () => {
    await keeper.interrupt();
    const vault = VAULT.toLowerCase();
    await keeper.writeJournal({ ...(await keeper.journal()), vault });
    expect(await read()).to.have.property("transactions");
  });
});

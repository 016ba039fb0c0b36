import fs, { existsSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { mock } from "node:test";

import { expect } from "chai";
import { Wallet, keccak256 } from "ethers";

import { Journal } from "../../src/settlement/journal.js";
import type { JournalEntry } from "../../src/settlement/journal-file.js";
import { expectVaultError } from "../helpers/assertions.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { itOnPosix } from "../helpers/posix.js";
import {
  FACTORY,
  GENESIS,
  KEY,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  journalSubject,
  unsignedSettlement,
  JOURNAL_FILE,
  HASH,
  OTHER_HASH,
  entry as sent,
  itSettles,
  keyOf,
  remote,
  useKeeper,
} from "../helpers/keeper.js";

const OTHER_KEY = `0x${"22".repeat(32)}`;

const entry: JournalEntry = { ...sent, transactions: [unsignedSettlement] };
const content = { version: 1, ...journalSubject, ...sent };

describe("the journal of a settlement", () => {
  const keeper = useKeeper();
  const journal = (genesisHash = GENESIS): Journal =>
    new Journal(keeper.projectRoot, { ...journalSubject, genesisHash });
  const folder = (): string => path.dirname(keeper.journalFile());

  let fileHandles: FileHandle;
  before(async () => {
    const handle = await open(import.meta.filename);
    // the prototype has the methods of every handle
    fileHandles = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
  });

  /** Not `mock.restoreAll()`, which brings the mocks of earlier files back. */
  let empty = (): void => undefined;

  /** As on a full disk: files can be made, and nothing can be written to them. */
  const fillDisk = (): void => {
    const full = Object.assign(new Error("ENOSPC: no space left on device"), {
      code: "ENOSPC",
    });
    const writing = mock.method(fileHandles, "writeFile", async () => {
      throw await Promise.resolve(full);
    });
    empty = () => {
      writing.mock.restore();
    };
  };
  afterEach(() => {
    empty();
  });

  itSettles(keeper, [
    {
      title: "settleAll settles if the journal is of a vault in lower case",
      given: async () => {
        await keeper.interrupt();
        const unsent = await keeper.journal();
        await keeper.writeJournal({ ...unsent, vault: VAULT.toLowerCase() });
      },
      options: { resume: true },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title:
        "settleAll refuses with VAULT_SETTLEMENT_UNFINISHED if another process begins while it asks",
      options: {
        confirm: async () => {
          await keeper.writeJournal(content);
          return true;
        },
      },
      is: {
        status: "refused",
        code: "VAULT_SETTLEMENT_UNFINISHED",
        hash: HASH,
      },
      says: ["the option `resume`", JOURNAL_FILE],
      then: async () => {
        expect(await keeper.journal()).to.deep.include({ sentAfterBlock: 5 });
      },
    },
    {
      title:
        "settleAll throws VAULT_JOURNAL_NOT_WRITTEN, and leaves no file, if the disk is full before it sends",
      options: {
        confirm: async () => {
          await mkdir(folder(), { recursive: true });
          fillDisk();
          return true;
        },
      },
      throws: "VAULT_JOURNAL_NOT_WRITTEN",
      says: ["ENOSPC"],
      then: async () => {
        empty();
        expect(await readdir(folder())).to.deep.equal([]);
        expect((await keeper.settle()).status).to.equal("settled");
      },
    },
    {
      title:
        "settleAll warns, and leaves the entry from before it sent, if the disk is full afterwards",
      options: {
        onEvent: (event) => {
          if (event.type === "sending") {
            fillDisk();
          }
        },
      },
      is: { status: "settled" },
      sends: 1,
      then: async (_, settlement) => {
        empty();
        expect(keeper.troubles).to.include("ENOSPC");
        expect(await readdir(folder())).to.have.members([
          path.basename(JOURNAL_FILE),
          "settlements.ndjson",
        ]);
        expect(await keeper.settle({ resume: true })).to.deep.equal({
          ...settlement,
          preview: null,
          differences: null,
        });
      },
    },
  ]);

  itSettles(keeper, [
    {
      title:
        "settleAll leaves the hash in the finished journal if the node signs as it sends",
      given: ({ chain }) => {
        chain.on("eth_signTransaction", () => {
          throw Object.assign(new Error("no such method"), { code: -32_601 });
        });
      },
      network: remote,
      is: { status: "settled" },
      sends: 1,
      then: async (_, settlement) => {
        expect(await keeper.journal(".finished")).to.have.nested.property(
          "transactions[0].hash",
          settlement?.hash,
        );
      },
    },
  ]);

  itOnPosix(
    "settleAll keeps its journal on another disk, if the folder is a link",
    async () => {
      const outside = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
      await symlink(outside, folder());
      keeper.loseTransactions(endDeadlines);
      await keeper.settle();
      expect(await readdir(outside)).to.deep.equal([
        path.basename(JOURNAL_FILE),
      ]);
      keeper.restartNode();
      expect(await keeper.settle({ resume: true })).to.include({
        status: "settled",
      });
      expect(await readdir(outside)).to.have.lengthOf(2);
      await rm(outside, { recursive: true });
    },
  );

  it("settleAll settles once if two begin together, from two accounts", async () => {
    // Both have asked all that there is to ask before either writes its journal.
    let arrived = 0;
    let release = (): void => undefined;
    const all = new Promise<void>((resolve) => {
      release = resolve;
    });
    keeper.chain.on("eth_getTransactionCount", async (_, answer) => {
      arrived += 1;
      if (arrived === 4) {
        release();
      }
      await all;
      return await answer();
    });
    const both = [KEY, OTHER_KEY].map(
      async (key) => await keeper.settle({}, { accounts: [keyOf(key)] }),
    );
    keeper.beforeSending(async () => {
      await Promise.race(both);
    });

    const statuses = (await Promise.all(both)).map(({ status }) => status);

    expect(statuses).to.have.members(["settled", "refused"]);
    expect(keeper.sends).to.equal(1);
    expect(keeper.chain.mined).to.have.length(1);
  });

  it("stays with the process that resumed it though the one that began it updates it and has sent nothing", async () => {
    await journal().begin(entry);
    await journal().update({ ...entry, resumed: true });
    await journal().update(entry);
    await journal().abandon(entry);
    expect(await journal().read()).to.include({ resumed: true });
  });

  it("of a later settlement with the same nonce is left alone by the process of an earlier one", async () => {
    const [first] = entry.transactions;
    const preparedAt = first.preparedAt + 1;
    const later: JournalEntry = {
      ...entry,
      transactions: [{ ...first, preparedAt }],
    };
    await journal().begin(later);
    await journal().abandon(entry);
    expect(await journal().read()).to.deep.include({
      transactions: later.transactions,
    });
  });

  it("begins once, then throws VAULT_SETTLEMENT_UNFINISHED until it is finished", async () => {
    const expectUnfinished = async (work: Promise<void>): Promise<void> => {
      const { message } = await expectVaultError(
        work,
        "VAULT_SETTLEMENT_UNFINISHED",
      );
      expect(message).to.include("nonce 7").and.include(JOURNAL_FILE);
    };
    await journal().begin(entry);
    await expectUnfinished(journal().refuseUnfinished());
    await expectUnfinished(journal().begin(entry));
    await journal().finish(entry);
    await journal().refuseUnfinished();
    await journal().begin(entry);
  });

  it("is begun by one of twenty at once; the others get VAULT_SETTLEMENT_UNFINISHED", async () => {
    const begun = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, nonce) => {
        await journal().begin({
          ...entry,
          transactions: [{ ...unsignedSettlement, nonce }],
        });
        return nonce;
      }),
    );
    const nonces = begun.flatMap((one) =>
      one.status === "fulfilled" ? [one.value] : [],
    );
    expect(nonces).to.have.length(1);
    expect((await journal().read())?.transactions[0].nonce).to.equal(nonces[0]);
    for (const one of begun) {
      if (one.status === "rejected") {
        expect(one.reason).to.include({ code: "VAULT_SETTLEMENT_UNFINISHED" });
      }
    }
  });

  it("is updated only for its own transaction, and kept when it is finished", async () => {
    await journal().finish(entry);
    expect(await journal().read()).to.equal(undefined);
    await journal().begin(entry);
    for (const changes of [{ nonce: 1 }, { from: FACTORY }]) {
      const other = { ...unsignedSettlement, ...changes };
      await journal().finish({ ...entry, transactions: [other] });
      expect((await journal().read())?.transactions).to.deep.equal([
        unsignedSettlement,
      ]);
    }
    await journal().update({ ...entry, sentAfterBlock: 6 });
    expect((await journal().read())?.sentAfterBlock).to.equal(6);
    await journal().finish(entry);
    expect(await journal().read()).to.equal(undefined);
    expect(await journal().readFinished()).to.deep.include(entry);
  });

  it("locks nothing once it is finished on another chain", async () => {
    const elsewhere = journal(`0x${"77".repeat(32)}`);
    await elsewhere.begin(entry);
    await elsewhere.finish(entry);
    expect(await journal().readFinished()).to.equal(undefined);
    expect(await journal().readStillArriving()).to.equal(undefined);
    await elsewhere.begin(entry);
    await elsewhere.finish({ ...entry, mayStillArrive: true });
    expect(await journal().readStillArriving()).to.equal(undefined);
    const again = await elsewhere.readStillArriving();
    expect(again)
      .to.deep.include(entry)
      .and.not.have.property("mayStillArrive");
  });

  it("may still arrive after another settlement that was not mined, until one with its nonce is mined", async () => {
    const mined = { status: "settled", blockNumber: 6, hash: HASH } as const;
    const other = { ...unsignedSettlement, nonce: 8 };
    const mayArrive = async (next: JournalEntry): Promise<unknown> => {
      await journal().begin({ ...entry });
      await journal().finish({ ...entry, mayStillArrive: true });
      await journal().begin(next);
      await journal().finish(next);
      return (await journal().readFinished())?.mayStillArrive;
    };
    expect([
      await mayArrive(entry),
      await mayArrive({ ...entry, mined }),
      await mayArrive({ ...entry, transactions: [other] }),
    ]).to.deep.equal([true, undefined, undefined]);
  });

  it("throws VAULT_INVALID_JOURNAL or VAULT_JOURNAL_NOT_WRITTEN, with the system's reason, if it cannot be read or written", async () => {
    await mkdir(keeper.journalFile(), { recursive: true });
    const { message } = await expectVaultError(
      journal().read(),
      "VAULT_INVALID_JOURNAL",
    );
    expect(message).to.include("it cannot be read (");
    await rm(folder(), { recursive: true });
    await writeFile(folder(), "a file");
    expect(await journal().read()).to.equal(undefined);
    const failed = await expectVaultError(
      journal().begin(entry),
      "VAULT_JOURNAL_NOT_WRITTEN",
    );
    expect(failed.message).to.match(/EEXIST|ENOTDIR/u);
    expect(existsSync(keeper.journalFile())).to.equal(false);
  });

  it("is given to the user, not deleted, if only another user may read it", async () => {
    const method = mock.method(fs.promises, "readFile", async () => {
      const problem = "EACCES: permission denied, open 'settlement.json'";
      const code = "EACCES";
      return await Promise.reject(Object.assign(new Error(problem), { code }));
    });
    syncBuiltinESMExports();
    empty = () => {
      method.mock.restore();
      syncBuiltinESMExports();
    };
    const { message } = await expectVaultError(
      journal().read(),
      "VAULT_INVALID_JOURNAL",
    );
    expect(message).to.include("chown").and.include("do not delete it");
  });

  it("of a development node that was restarted makes way for the next settlement", async () => {
    keeper.makeDevelopmentNode();
    keeper.loseTransactions(endDeadlines);
    await keeper.settle();
    expect(await keeper.settle()).to.include({
      code: "VAULT_SETTLEMENT_UNFINISHED",
    });
    keeper.chain = new ScriptedNode();
    keeper.makeDevelopmentNode();
    keeper.changeGenesis(OTHER_HASH);
    expect(await keeper.settle({ resume: true })).to.include({
      code: "VAULT_NOTHING_TO_RESUME",
    });
    expect(await keeper.settle()).to.include({ status: "settled" });
  });

  it("is begun where hard links do not work, and by one of two", async () => {
    const method = mock.method(fs.promises, "link", async () => {
      const problem = new Error("EPERM: operation not permitted, link");
      return await Promise.reject(Object.assign(problem, { code: "EPERM" }));
    });
    syncBuiltinESMExports();
    empty = () => {
      method.mock.restore();
      syncBuiltinESMExports();
    };
    await journal().begin(entry);
    expect(method.mock.callCount()).to.equal(1);
    expect(await journal().read()).to.deep.include(entry);
    await expectVaultError(
      journal().begin(entry),
      "VAULT_SETTLEMENT_UNFINISHED",
    );
    expect(await readdir(folder())).to.deep.equal([
      path.basename(JOURNAL_FILE),
    ]);
  });

  it("keeps the transactions that another process added", async () => {
    await keeper.interrupt();
    const added = await journal().read();
    const signed = added?.transactions[0];
    if (added === undefined || signed?.fees === undefined) {
      throw new Error("there is no journal");
    }
    const wallet = new Wallet(KEY);
    const cancellationAt = async (maxFeePerGas: bigint) => {
      const fees = { maxFeePerGas, maxPriorityFeePerGas: 1n };
      const raw = await wallet.signTransaction({
        ...{ type: 2, to: SETTLER, chainId: 31_337, nonce: signed.nonce },
        ...{ gasLimit: 21_000n, ...fees },
      });
      const hash = `0x${keccak256(raw).slice(2)}` as const;
      return {
        ...{ ...signed, kind: "cancellation" as const, to: SETTLER },
        ...{ data: "0x", gas: 21_000n, fees, raw, hash },
      };
    };
    const cancellation = await cancellationAt(9n);
    await journal().update({
      ...added,
      transactions: [signed, cancellation],
    });
    const written = await journal().update(added);
    expect(written?.transactions).to.deep.equal([signed, cancellation]);
    // What this process made last stays the newest.
    const newest = await cancellationAt(11n);
    await journal().update({ ...added, transactions: [signed, newest] });
    expect(await journal().read()).to.deep.include({
      transactions: [signed, cancellation, newest],
    });
  });
});

import { rename, rm, stat } from "node:fs/promises";
import path from "node:path";

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import {
  PROJECT_FOLDER,
  createProjectFile,
  readProjectFile,
  reasonOf,
  writeProjectFile,
} from "../files/project-file.js";
import { UNKNOWN_GENESIS, getGenesisHash } from "../rpc/blocks.js";
import { isDevelopmentNodeNow } from "../rpc/development-node.js";
import { isSameAddress, journalSchema, problemOf } from "./journal-file.js";
import type {
  ChainKind,
  JournalEntry,
  JournalFile,
  JournalSubject,
} from "./journal-file.js";
import { newestOf } from "./transaction.js";

/** Only the owner reads and writes it. */
const FILE_MODE = 0o600;
/** A file is empty only between two system calls, where there are no hard links. */
const EMPTY_MS = 60_000;

/** Asks of which kind the chain is now; in process, where no journal is kept, nothing. */
export async function askChainKind(vault: VaultHost): Promise<ChainKind> {
  return isKeptBy(vault) && !(await isDevelopmentNodeNow(vault.rpc))
    ? "live"
    : "development";
}

function isKeptBy({ connection }: VaultHost): boolean {
  return connection.networkConfig.type === "http";
}

/**
 * Latest settlement of one vault on one kind of chain, in a file of the project. The file
 * is also the lock: it is created exclusively, and renamed when the outcome is known. It
 * holds no key, only the signed transactions.
 */
export class Journal {
  /** Relative to the project's root, for texts. */
  public readonly file: string;
  public readonly finishedFile: string;

  constructor(
    private readonly projectRoot: string,
    private readonly subject: JournalSubject,
    /** False in process, where nothing outlives the process. */
    public readonly isKept = true,
  ) {
    const { chainKind, chainId, vault } = subject;
    const name = `${PROJECT_FOLDER}/settlement-${chainKind}-${chainId}-${vault.toLowerCase()}`;
    this.file = `${name}.json`;
    this.finishedFile = `${name}.finished.json`;
  }

  public get chainKind(): ChainKind {
    return this.subject.chainKind;
  }

  public get vault(): string {
    return this.subject.vault;
  }

  /** @param kind Default: it is asked for. */
  public static async of(
    vault: VaultHost,
    chainId: number,
    address: Address,
    kind?: ChainKind,
  ): Promise<Journal> {
    const { root } = vault.context.config.paths;
    const [chainKind, genesisHash] = await Promise.all([
      kind ?? askChainKind(vault),
      isKeptBy(vault) ? getGenesisHash(vault.rpc) : UNKNOWN_GENESIS,
    ]);
    const subject = { chainKind, chainId, genesisHash, vault: address };
    return new Journal(root, subject, isKeptBy(vault));
  }

  /**
   * Asked once, after a person agreed and before anything is signed: refuses if a live node
   * has taken the place of a development node behind the same URL, or the other way round.
   *
   * @throws VaultError VAULT_CHAIN_CHANGED
   */
  public async requireSameChainKind(vault: VaultHost): Promise<void> {
    const { chainKind, chainId } = this.subject;
    const kind = await askChainKind(vault);
    if (kind !== chainKind) {
      throw vaultError("VAULT_CHAIN_CHANGED", {
        network: vault.networkName,
        expected: `${chainId} of a ${chainKind} node`,
        actual: `${chainId} of a ${kind} one`,
      });
    }
  }

  /**
   * @returns Undefined if there is none. A file from before a restart of a development
   * node counts as none.
   * @throws VaultError VAULT_JOURNAL_OF_OTHER_CHAIN, VAULT_INVALID_JOURNAL
   */
  public async read(): Promise<JournalEntry | undefined> {
    await this.#removeEmpty();
    return await this.#readOwn(this.file, true);
  }

  /** A process that was killed before it wrote anything has sent nothing. */
  async #removeEmpty(): Promise<void> {
    const file = path.join(this.projectRoot, this.file);
    const { size, mtimeMs } = await stat(file).catch(() => ({
      size: undefined,
      mtimeMs: 0,
    }));
    // Another process may be about to write a newer one.
    if (this.isKept && size === 0 && Date.now() - mtimeMs > EMPTY_MS) {
      await rm(file, { force: true });
    }
  }

  /**
   * Reads the last finished settlement, if it was on this chain.
   *
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async readFinished(): Promise<JournalEntry | undefined> {
    return await this.#readOwn(this.finishedFile, false);
  }

  /** @returns The last settlement if it was of this round, was mined, and reverted. */
  public async findReverted(round: VaultRound): Promise<JournalEntry["mined"]> {
    const last = await this.readFinished().catch(fallbackTo(undefined));
    return last?.mined?.status === "reverted" && isSameRound(last.round, round)
      ? last.mined
      : undefined;
  }

  /**
   * Refuses a new settlement while the outcome of another on this chain is not known: two
   * transactions could settle two rounds.
   *
   * @throws VaultError VAULT_SETTLEMENT_UNFINISHED, VAULT_JOURNAL_OF_OTHER_CHAIN
   */
  public async refuseUnfinished(): Promise<void> {
    const found = await this.read();
    if (found !== undefined) {
      throw vaultError("VAULT_SETTLEMENT_UNFINISHED", {
        transaction: describeTransaction(found),
        file: this.file,
      });
    }
    // A development node left it behind before it was restarted.
    if (this.isKept && this.subject.chainKind === "development") {
      await rm(path.join(this.projectRoot, this.file), { force: true });
    }
  }

  /**
   * Writes the entry of a new settlement. Of several processes, only one succeeds.
   *
   * @throws VaultError VAULT_SETTLEMENT_UNFINISHED if one is under way,
   * VAULT_JOURNAL_NOT_WRITTEN, VAULT_INVALID_JOURNAL, VAULT_JOURNAL_OF_OTHER_CHAIN
   */
  public async begin(entry: JournalEntry): Promise<void> {
    try {
      await this.#write(createProjectFile, entry);
    } catch (error) {
      await this.refuseUnfinished();
      throw error;
    }
    // Somebody may have taken the file away while it was empty.
    if ((await this.#merge(entry)) === undefined) {
      this.#notWritten(new Error("it is not there after it was written"));
    }
  }

  /**
   * Writes the entry.
   *
   * @returns The entry as it is written; undefined if the file is not of this settlement.
   */
  public async update(entry: JournalEntry): Promise<JournalEntry | undefined> {
    const merged = await this.#merge(entry);
    if (merged !== undefined) {
      await this.#write(writeProjectFile, merged);
    }
    return merged;
  }

  /**
   * Removes an entry of which nothing has left, unless another process resumed it. The last
   * finished settlement stays known.
   */
  public async abandon(entry: JournalEntry): Promise<void> {
    const present = await this.#merge(entry);
    if (this.isKept && present !== undefined && present.resumed !== true) {
      await rm(path.join(this.projectRoot, this.file)).catch(this.#notWritten);
    }
  }

  /** Writes the entry, and lets the next settlement begin. */
  public async finish(entry: JournalEntry): Promise<void> {
    const merged = await this.#merge(entry);
    if (merged === undefined || !this.isKept) {
      return;
    }
    await this.#write(writeProjectFile, merged);
    const { projectRoot: root, file, finishedFile } = this;
    await rename(path.join(root, file), path.join(root, finishedFile)).catch(
      this.#notWritten,
    );
  }

  /**
   * Adds the transactions that another process wrote.
   *
   * @returns Undefined if another process resumed and finished the settlement: the file
   * may already belong to the next one.
   */
  async #merge(entry: JournalEntry): Promise<JournalEntry | undefined> {
    if (!this.isKept) {
      return entry;
    }
    const present = await this.read();
    return present === undefined || !isSameSettlement(present, entry)
      ? undefined
      : {
          ...entry,
          resumed: entry.resumed ?? present.resumed,
          transactions: mergeTransactions(present, entry),
        };
  }

  async #write(
    write: typeof createProjectFile,
    entry: JournalEntry,
  ): Promise<void> {
    const { projectRoot, file, subject } = this;
    const content: JournalFile = { version: 1, ...subject, ...entry };
    if (this.isKept) {
      await write(projectRoot, file, content, FILE_MODE).catch(
        this.#notWritten,
      );
    }
  }

  async #read(file: string): Promise<JournalFile | undefined> {
    const invalid = (problem: string, cause?: unknown): VaultError => {
      // As after a run as root.
      const isForbidden = /\b(?:EACCES|EPERM)\b/u.test(problem);
      const remedy = isForbidden
        ? `Give it to the user who runs this task (chown), and do not delete it: it is the record of a settlement.`
        : `The file may be the only record of a transaction that was sent. Read it and check the account on the chain before you delete it.`;
      const details = { file, problem, remedy };
      return vaultError("VAULT_INVALID_JOURNAL", details, cause);
    };
    const { projectRoot } = this;
    const found = this.isKept
      ? await readProjectFile(projectRoot, file, journalSchema, invalid)
      : undefined;
    const problem =
      found === undefined ? undefined : problemOf(found, this.subject);
    if (problem !== undefined) {
      throw invalid(problem);
    }
    return found;
  }

  /** @returns Undefined if there is none, or one of another chain that locks nothing. */
  async #readOwn(
    file: string,
    isLock: boolean,
  ): Promise<JournalFile | undefined> {
    const found = await this.#read(file);
    const { chainKind, genesisHash: own } = this.subject;
    if (
      found === undefined ||
      found.genesisHash === own ||
      // A pruned node has no first block: what it began is of the chain with its id.
      found.genesisHash === UNKNOWN_GENESIS ||
      (chainKind === "development" && own === UNKNOWN_GENESIS)
    ) {
      return found;
    }
    if (chainKind === "development" || !isLock) {
      return undefined;
    }
    throw vaultError("VAULT_JOURNAL_OF_OTHER_CHAIN", {
      file,
      transaction: describeTransaction(found),
      chainId: found.chainId,
      genesis: found.genesisHash,
      found: own === UNKNOWN_GENESIS ? "nothing" : own,
      from: found.transactions[0].from,
    });
  }

  readonly #notWritten = (error: unknown): never => {
    const details = { file: this.file, problem: reasonOf(error) };
    throw vaultError("VAULT_JOURNAL_NOT_WRITTEN", details, error);
  };
}

export function describeTransaction(
  entry: Pick<JournalEntry, "transactions">,
): string {
  const { hash, nonce } = newestOf(entry);
  return hash ?? `with nonce ${nonce}, its hash not known`;
}

type Transactions = JournalEntry["transactions"];

function isSameNonce(one: JournalEntry, other: JournalEntry): boolean {
  const [[first], [second]] = [one.transactions, other.transactions];
  return first.nonce === second.nonce && isSameAddress(first.from, second.from);
}

/** The next settlement can have the same nonce. */
function isSameSettlement(one: JournalEntry, other: JournalEntry): boolean {
  const [[first], [second]] = [one.transactions, other.transactions];
  return isSameNonce(one, other) && first.preparedAt === second.preparedAt;
}

function mergeTransactions(
  { transactions: present }: JournalEntry,
  { transactions: own }: JournalEntry,
): Transactions {
  const [first, ...more] = own;
  const known = new Set(own.map(({ raw }) => raw));
  const added = present.filter(
    ({ raw }) => raw !== undefined && !known.has(raw),
  );
  return [first, ...added, ...more];
}

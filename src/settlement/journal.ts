import path from "node:path";

import {
  IncompatibleMultiProcessMutexError,
  MultiProcessMutex,
  MultiProcessMutexTimeoutError,
  StaleMultiProcessMutexError,
} from "@nomicfoundation/hardhat-utils/synchronization";
import { z } from "zod";

import { checkAnswer } from "../client/values.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import {
  PROJECT_FOLDER,
  prepareProjectFile,
  readProjectFile,
  writeProjectFile,
} from "../project-file.js";
import { recordedAddress, recordedCount } from "../recorded-values.js";
import { settlementCall } from "../simulation/engine.js";
import { refusal } from "./stopped.js";
import { isSignedAs, transactionSchema } from "./transaction.js";
import type { PreparedTransaction } from "./transaction.js";
import { SETTLEMENT_STATUSES } from "./types.js";

/**
 * The lock is held for a moment only: it is the unfinished entry that keeps
 * others off afterwards. Who waits longer than this meets a process that hangs.
 */
const LOCK_TIMEOUT_MS = 200;
/** Only the owner reads and writes it. */
const FILE_MODE = 0o600;
/** Of a node without its first block; such chains cannot be told apart. */
const UNKNOWN_GENESIS = "unknown";

function checkRound(round: unknown, { addIssue }: z.RefinementCtx): VaultRound {
  try {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations has made both the check and the type
    return checkAnswer("getLatestRoundInfo", round, "round") as VaultRound;
  } catch (error) {
    addIssue({ code: "custom", message: String(error) });
    return z.NEVER;
  }
}

const fileSchema = z
  .object({
    version: z.literal(1),
    chainId: recordedCount,
    /** Local nodes share a chain id; their first block tells them apart. */
    genesisHash: z.string(),
    vault: recordedAddress,
    /** False until its outcome is known. */
    finished: z.boolean(),
    /** The outcome, if anything was sent. */
    status: z.enum(SETTLEMENT_STATUSES).optional(),
    /** The block that holds the transaction. */
    blockNumber: recordedCount.optional(),
    /** The latest block before it was sent. */
    sentAfterBlock: recordedCount,
    round: z.unknown().transform(checkRound),
    transaction: transactionSchema,
  })
  .strict();

type JournalFile = Readonly<z.infer<typeof fileSchema>>;

/** Whose settlements a journal has. */
type Subject = Pick<JournalFile, "chainId" | "genesisHash" | "vault">;

/** What is remembered of a settlement, from before it is sent. */
export type JournalEntry = Omit<JournalFile, "version" | keyof Subject>;

/**
 * The latest settlement of one vault on one chain, in a file of the project.
 * It holds no key: the signed transaction can only do what was confirmed.
 */
export class Journal {
  /** Relative to the project's root, for texts. */
  public readonly file: string;

  constructor(
    private readonly projectRoot: string,
    private readonly subject: Subject,
  ) {
    const { chainId, vault } = subject;
    this.file = `${PROJECT_FOLDER}/settlement-${chainId}-${vault.toLowerCase()}.json`;
  }

  /** Undefined in process, where nothing outlives the process. */
  public static async open(
    vault: VaultHost,
    chainId: number,
    address: string,
  ): Promise<Journal | undefined> {
    if (vault.connection.networkConfig.type !== "http") {
      return undefined;
    }
    const genesisHash = (await vault.genesisHash()) ?? UNKNOWN_GENESIS;
    const { root } = vault.context.config.paths;
    return new Journal(root, { chainId, genesisHash, vault: address });
  }

  /**
   * @returns The entry, or undefined if there is none of this very chain: what is
   * left of a local node that was started again counts for nothing.
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async read(): Promise<JournalEntry | undefined> {
    const found = await readProjectFile(
      this.projectRoot,
      this.file,
      fileSchema,
      codeOf,
      (problem, cause) => this.#invalid(problem, cause),
    );
    if (found === undefined) {
      return undefined;
    }
    this.#check(found);
    const hashes = [found.genesisHash, this.subject.genesisHash];
    return hashes[0] === hashes[1] || hashes.includes(UNKNOWN_GENESIS)
      ? found
      : undefined;
  }

  /**
   * Writes the entry of a settlement that begins, unless one is under way. Of
   * several processes that do this at once, one gets through.
   *
   * @throws SettlementStopped if one is under way, or another process does this
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN, VAULT_INVALID_JOURNAL
   */
  public async begin(entry: JournalEntry): Promise<void> {
    const place = path.join(this.projectRoot, this.file);
    const lock = new MultiProcessMutex(`${place}.lock`, LOCK_TIMEOUT_MS);
    let release: () => Promise<void>;
    try {
      await prepareProjectFile(this.projectRoot, this.file);
      release = await lock.acquire();
    } catch (error) {
      throw isHeldByOther(error)
        ? refusal("VAULT_SETTLEMENT_LOCKED", { problem: error.message })
        : this.#notWritten(error);
    }
    try {
      await this.refuseUnfinished();
      await this.#write(entry);
    } finally {
      await release();
    }
  }

  /**
   * Writes what became of a settlement, unless the next one has begun: another
   * process may have taken this one up and seen its end.
   *
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN, VAULT_INVALID_JOURNAL
   */
  public async update(entry: JournalEntry): Promise<void> {
    const present = await this.read();
    if (
      present === undefined ||
      isSameNonce(present.transaction, entry.transaction)
    ) {
      await this.#write(entry);
    }
  }

  /**
   * A settlement whose outcome is not known yet, on this very chain, is never
   * followed by another one: two transactions could settle two rounds.
   *
   * @param own The one that is about to leave. Of two processes that take away
   * the lock of a dead one at once, both may begin; the file holds one.
   * @throws SettlementStopped if there is such a settlement
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async refuseUnfinished(own?: PreparedTransaction): Promise<void> {
    const found = await this.read();
    if (
      found === undefined ||
      found.finished ||
      (own !== undefined && isSameNonce(found.transaction, own))
    ) {
      return;
    }
    const { hash, nonce } = found.transaction;
    const transaction =
      hash ?? `the one with nonce ${nonce}, its hash not known`;
    throw refusal(
      "VAULT_SETTLEMENT_UNFINISHED",
      { transaction, file: this.file },
      hash,
    );
  }

  async #write(entry: JournalEntry): Promise<void> {
    const content: JournalFile = { version: 1, ...this.subject, ...entry };
    try {
      await writeProjectFile(this.projectRoot, this.file, content, FILE_MODE);
    } catch (error) {
      throw this.#notWritten(error);
    }
  }

  /** Nobody may have the package send what it did not prepare. */
  #check(found: JournalFile): void {
    const { chainId, vault } = this.subject;
    const { transaction } = found;
    const { from, to, data, raw } = transaction;
    if (
      found.chainId !== chainId ||
      transaction.chainId !== chainId ||
      !isSameAddress(found.vault, vault)
    ) {
      throw this.#invalid(
        `it is of vault ${found.vault} on chain ${found.chainId}, not of vault ${vault} on chain ${chainId}`,
      );
    }
    if (!isSameAddress(to, vault)) {
      throw this.#invalid(
        `its transaction goes to ${to}, not to the vault ${vault}`,
      );
    }
    if (data !== settlementCall(from, to).data) {
      throw this.#invalid("its transaction does not call settleAll");
    }
    if (raw !== undefined && !isSignedAs(raw, transaction)) {
      throw this.#invalid("its signed bytes are not its transaction");
    }
  }

  #notWritten(error: unknown): VaultError {
    const details = { file: this.file, problem: codeOf(error) };
    return vaultError("VAULT_JOURNAL_NOT_WRITTEN", details, error);
  }

  #invalid(problem: string, cause?: unknown): VaultError {
    const details = { file: this.file, problem };
    return vaultError("VAULT_INVALID_JOURNAL", details, cause);
  }
}

/** One account has one transaction with a nonce. */
function isSameNonce(
  one: PreparedTransaction,
  other: PreparedTransaction,
): boolean {
  return one.nonce === other.nonce && isSameAddress(one.from, other.from);
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Anything else is trouble with the folder. */
function isHeldByOther(error: unknown): error is Error {
  return [
    MultiProcessMutexTimeoutError,
    IncompatibleMultiProcessMutexError,
    StaleMultiProcessMutexError,
  ].some((kind) => error instanceof kind);
}

/** The system's code for what went wrong, or for what caused that. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  return "code" in error
    ? String(error.code)
    : error.cause === undefined
      ? error.message
      : codeOf(error.cause);
}

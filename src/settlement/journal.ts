import { constants } from "node:fs";
import { access } from "node:fs/promises";
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
import { settlementCall } from "../rehearsal/question.js";
import { refusal } from "./stopped.js";
import { isSignedAs, transactionSchema } from "./transaction.js";
import type { PreparedTransaction } from "./transaction.js";
import { SETTLEMENT_STATUSES } from "./types.js";

/**
 * The lock is held for a moment only: it is the unfinished entry that keeps
 * others off afterwards. Who waits longer than this meets a process that hangs.
 */
const LOCK_TIMEOUT_MS = 200;
/** Nobody else's business: only the owner reads and writes it. */
const FILE_MODE = 0o600;

function checkRound(round: unknown, { addIssue }: z.RefinementCtx): VaultRound {
  try {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations has made both the check and the type
    return checkAnswer("getLatestRoundInfo", round, "round") as VaultRound;
  } catch (error) {
    addIssue({ code: "custom", message: String(error) });
    return z.NEVER;
  }
}

const entrySchema = z
  .object({
    version: z.literal(1),
    /** False until its outcome is known. */
    finished: z.boolean(),
    /** The outcome, if anything was sent. */
    status: z.enum(SETTLEMENT_STATUSES).optional(),
    /** The block that holds the transaction. */
    blockNumber: recordedCount.optional(),
    chainId: recordedCount,
    /** Local nodes share a chain id; their first block tells them apart. */
    genesisHash: z.string(),
    vault: recordedAddress,
    /** The latest block before it was sent. */
    sentAfterBlock: recordedCount,
    round: z.unknown().transform(checkRound),
    transaction: transactionSchema,
  })
  .strict();

/** What is remembered of a settlement, from before it is sent. */
export type JournalEntry = Readonly<
  Omit<z.infer<typeof entrySchema>, "version">
>;

/**
 * The latest settlement of one vault on one chain, in a file of the project.
 * It holds no key: the signed transaction can only do what was confirmed.
 */
export class Journal {
  /** Relative to the project's root, for texts. */
  public readonly file: string;

  constructor(
    private readonly projectRoot: string,
    private readonly chainId: number,
    private readonly vault: string,
  ) {
    this.file = `${PROJECT_FOLDER}/settlement-${chainId}-${vault.toLowerCase()}.json`;
  }

  /** Undefined in process, where nothing outlives the process. */
  public static open(
    { connection, context }: VaultHost,
    chainId: number,
    vault: string,
  ): Journal | undefined {
    return connection.networkConfig.type === "http"
      ? new Journal(context.config.paths.root, chainId, vault)
      : undefined;
  }

  /**
   * @returns The entry, or undefined if there is none.
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async read(): Promise<JournalEntry | undefined> {
    const entry = await readProjectFile(
      this.projectRoot,
      this.file,
      entrySchema,
      codeOf,
      (problem, cause) => this.#invalid(problem, cause),
    );
    return entry === undefined ? undefined : this.#checked(entry);
  }

  /**
   * Writes the entry; the file appears whole or not at all.
   *
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN
   */
  async #write(entry: JournalEntry): Promise<void> {
    try {
      await writeProjectFile(
        this.projectRoot,
        this.file,
        { version: 1, ...entry },
        FILE_MODE,
      );
    } catch (error) {
      throw this.#notWritten(error);
    }
  }

  /**
   * Writes the entry of a settlement that begins, unless one is under way. Of
   * several processes that do this at once, one gets through.
   *
   * @throws SettlementStopped where one is under way, or another process does this
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN, VAULT_INVALID_JOURNAL
   */
  public async begin(entry: JournalEntry): Promise<void> {
    const place = path.join(this.projectRoot, this.file);
    const lock = new MultiProcessMutex(`${place}.lock`, LOCK_TIMEOUT_MS);
    let release: () => Promise<void>;
    try {
      await prepareProjectFile(this.projectRoot, this.file);
      await access(path.dirname(place), constants.W_OK);
      release = await lock.acquire();
    } catch (error) {
      throw isHeldByOther(error)
        ? refusal("VAULT_SETTLEMENT_LOCKED", { problem: error.message })
        : this.#notWritten(error);
    }
    try {
      await this.refuseUnfinished(entry.genesisHash);
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
  public async refuseUnfinished(
    genesisHash: string,
    own?: PreparedTransaction,
  ): Promise<void> {
    const entry = await this.read();
    if (
      entry === undefined ||
      entry.finished ||
      // What is left of a local node that was started anew is of no account.
      !isSameChain(entry, genesisHash) ||
      (own !== undefined && isSameNonce(entry.transaction, own))
    ) {
      return;
    }
    const { hash: known, nonce } = entry.transaction;
    throw refusal(
      "VAULT_SETTLEMENT_UNFINISHED",
      {
        transaction: known ?? `the one with nonce ${nonce}, its hash not known`,
        file: this.file,
      },
      known,
    );
  }

  #checked(entry: JournalEntry): JournalEntry {
    const { transaction } = entry;
    const { from, to, data, raw } = transaction;
    const belongsHere =
      entry.chainId === this.chainId &&
      transaction.chainId === this.chainId &&
      isSameAddress(entry.vault, this.vault);
    if (!belongsHere) {
      throw this.#invalid(
        `it is of vault ${entry.vault} on chain ${entry.chainId}, not of vault ${this.vault} on chain ${this.chainId}`,
      );
    }
    if (!isSameAddress(to, this.vault)) {
      throw this.#invalid(
        `its transaction goes to ${to}, not to the vault ${this.vault}`,
      );
    }
    if (data !== settlementCall(from, to).data) {
      throw this.#invalid("its transaction does not call settleAll");
    }
    if (raw !== undefined && !isSignedAs(raw, transaction)) {
      throw this.#invalid("its signed bytes are not its transaction");
    }
    return entry;
  }

  #notWritten(error: unknown): VaultError {
    return vaultError(
      "VAULT_JOURNAL_NOT_WRITTEN",
      { file: this.file, problem: codeOf(error) },
      error,
    );
  }

  #invalid(problem: string, cause?: unknown): VaultError {
    return vaultError(
      "VAULT_INVALID_JOURNAL",
      { file: this.file, problem },
      cause,
    );
  }
}

/** Nodes without their first block cannot be told apart, and are not. */
export function isSameChain(
  { genesisHash }: JournalEntry,
  actual: string,
): boolean {
  return genesisHash === actual || [genesisHash, actual].includes("unknown");
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

/** Somebody else has the lock; anything else is trouble with the folder. */
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

import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import writeFileAtomic from "write-file-atomic";
import { z } from "zod";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import { toJsonValue } from "../untrusted-text.js";
import { refusal } from "./stopped.js";
import { isSignedAs } from "./transaction.js";
import type { PreparedTransaction } from "./transaction.js";

const FOLDER = "vault-deployments";
const fileName = /^settlement-(\d+)-(0x[0-9a-f]{40})\.json$/u;
/** What is added to a journal's name for its lock. */
const LOCK = ".lock";
/** Nobody else's business: only the owner reads and writes it. */
const FILE_MODE = 0o600;

const integer = z
  .string()
  .regex(/^[0-9]+$/u)
  .transform(BigInt);
const count = z.number().int().nonnegative();
const hex = z.string().regex(/^0x(?:[0-9a-f]{2})*$/iu);
const hash = z.string().regex(/^0x[0-9a-f]{64}$/iu);
const address = z.string().regex(/^0x[0-9a-f]{40}$/iu);

const round = z
  .object({
    strikePrice: integer,
    APY: integer,
    maxVolume: integer,
    filledVolume: integer,
    minDeposit: integer,
    startTime: integer,
    endTime: integer,
    settledPrice: integer,
    settledAmount: integer,
    settled: z.boolean(),
  })
  .strict();

const fees = z.union([
  z.object({ gasPrice: integer }).strict(),
  z.object({ maxFeePerGas: integer, maxPriorityFeePerGas: integer }).strict(),
]);

const entrySchema = z
  .object({
    version: z.literal(1),
    /** False until its outcome is known. */
    finished: z.boolean(),
    chainId: count,
    /** Local nodes share a chain id; their first block tells them apart. */
    genesisHash: z.string(),
    vault: address,
    /** The latest block before it was sent. */
    sentAfterBlock: count,
    round,
    transaction: z
      .object({
        from: address,
        to: address,
        data: hex,
        chainId: count,
        nonce: count,
        gas: integer,
        fees: fees.optional(),
        hash: hash.optional(),
        raw: hex.optional(),
      })
      .strict(),
  })
  .strict();

/** What is remembered of a settlement, from before it is sent. */
export interface JournalEntry {
  readonly finished: boolean;
  readonly chainId: number;
  readonly genesisHash: string;
  readonly vault: string;
  readonly sentAfterBlock: number;
  readonly round: VaultRound;
  readonly transaction: PreparedTransaction;
}

/**
 * The latest settlement of one vault on one chain, in a file of the project.
 * It holds no key: the signed transaction can only do what was confirmed.
 */
export class Journal {
  /** Relative to the project's root, for texts. */
  public readonly file: string;
  readonly #folder: string;
  readonly #path: string;
  readonly #lockPath: string;
  readonly #chainId: number;
  readonly #vault: string;

  constructor(projectRoot: string, chainId: number, vault: string) {
    const name = `settlement-${chainId}-${vault.toLowerCase()}.json`;
    this.file = `${FOLDER}/${name}`;
    this.#folder = path.join(projectRoot, FOLDER);
    this.#path = path.join(this.#folder, name);
    this.#lockPath = `${this.#path}${LOCK}`;
    this.#chainId = chainId;
    this.#vault = vault;
  }

  /**
   * @returns The entry, or undefined if there is none.
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async read(): Promise<JournalEntry | undefined> {
    const text = await this.#readText();
    if (text === undefined) {
      return undefined;
    }
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (error) {
      throw this.#invalid("it is not JSON", error);
    }
    const parsed = entrySchema.safeParse(json);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw this.#invalid(
        `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`,
        parsed.error,
      );
    }
    return this.#checked(parsed.data);
  }

  /**
   * Writes the entry; the file appears whole or not at all.
   *
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN
   */
  async #write(entry: JournalEntry): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true });
      await writeFileAtomic(
        this.#path,
        `${JSON.stringify(toJsonValue({ version: 1, ...entry }), undefined, 2)}\n`,
        { mode: FILE_MODE },
      );
    } catch (error) {
      throw this.#notWritten(error);
    }
  }

  /**
   * Writes the entry of a settlement that begins, unless one is under way. Of
   * several processes that do this at once, one gets through.
   *
   * @returns The settlement that is under way, if there is one.
   * @throws SettlementStopped while another process does this
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN, VAULT_INVALID_JOURNAL
   */
  public async begin(entry: JournalEntry): Promise<JournalEntry | undefined> {
    await this.#lock();
    try {
      const other = await this.findUnfinished(entry.genesisHash);
      if (other === undefined) {
        await this.#write(entry);
      }
      return other;
    } finally {
      await rm(this.#lockPath, { force: true });
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

  /** The settlement whose outcome is not known yet, on this very chain. */
  public async findUnfinished(
    genesisHash: string,
  ): Promise<JournalEntry | undefined> {
    const entry = await this.read();
    // What is left of a local node that was started anew is of no account.
    return entry?.finished === false && isSameChain(entry, genesisHash)
      ? entry
      : undefined;
  }

  /**
   * The lock is held for a moment only: it is the unfinished entry that keeps
   * others off afterwards. One that is left over is never taken away by itself,
   * since two processes could do that at once.
   */
  async #lock(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true });
    } catch (error) {
      throw this.#notWritten(error);
    }
    try {
      await writeFile(this.#lockPath, String(process.pid), {
        flag: "wx",
        mode: FILE_MODE,
      });
    } catch (error) {
      throw codeOf(error) === "EEXIST"
        ? refusal("VAULT_SETTLEMENT_LOCKED", {
            owner: await this.#lockOwner(),
            file: `${this.file}${LOCK}`,
          })
        : this.#notWritten(error);
    }
  }

  /** Who has the lock, in words. */
  async #lockOwner(): Promise<string> {
    // It may be gone again by now.
    const text = await readFile(this.#lockPath, "utf8").catch(() => "");
    return /^[1-9]\d{0,9}$/u.test(text)
      ? `process ${text}, which is ${isRunning(Number(text)) ? "running" : "not running any more"}`
      : "an unknown process";
  }

  async #readText(): Promise<string | undefined> {
    try {
      return await readFile(this.#path, "utf8");
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) {
        return undefined;
      }
      throw this.#invalid(`it cannot be read (${codeOf(error)})`, error);
    }
  }

  #checked(entry: z.infer<typeof entrySchema>): JournalEntry {
    const { raw, hash: known, fees: paid, ...rest } = entry.transaction;
    const belongsHere =
      entry.chainId === this.#chainId &&
      rest.chainId === this.#chainId &&
      isSameAddress(entry.vault, this.#vault) &&
      isSameAddress(rest.to, this.#vault);
    if (!belongsHere) {
      throw this.#invalid(
        `it is of vault ${entry.vault} on chain ${entry.chainId}, not of vault ${this.#vault} on chain ${this.#chainId}`,
      );
    }
    const transaction = { ...rest, raw, hash: known, fees: paid };
    if (raw !== undefined && !isSignedAs(raw, transaction)) {
      throw this.#invalid("its signed bytes are not its transaction");
    }
    return { ...entry, transaction };
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

/**
 * The settlements of a project whose outcome is not known yet; files that
 * cannot be read are left out.
 *
 * @param wanted Only those of this chain, and of this vault, where given.
 */
export async function unfinishedEntries(
  projectRoot: string,
  wanted: {
    readonly chainId?: number | undefined;
    readonly vault?: string | undefined;
  },
): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (const name of await filesIn(path.join(projectRoot, FOLDER))) {
    const [, chainId = "", vault = ""] = fileName.exec(name) ?? [];
    if (
      vault !== "" &&
      isSameAddress(vault, wanted.vault ?? vault) &&
      Number(chainId) === (wanted.chainId ?? Number(chainId))
    ) {
      const journal = new Journal(projectRoot, Number(chainId), vault);
      const entry = await journal.read().catch(() => undefined);
      found.push(...(entry?.finished === false ? [entry] : []));
    }
  }
  return found;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
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

function isRunning(pid: number): boolean {
  try {
    // Signal 0 only asks.
    return process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process may not be asked, and so is there.
    return codeOf(error) === "EPERM";
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error
    ? String(error.code)
    : String(error);
}

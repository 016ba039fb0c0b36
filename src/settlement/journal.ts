import { rename, rm } from "node:fs/promises";
import path from "node:path";

import { z } from "zod";

import { checkAnswer } from "../client/values.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import {
  PROJECT_FOLDER,
  createProjectFile,
  readProjectFile,
  reasonOf,
  writeProjectFile,
} from "../project-file.js";
import { recordedAddress, recordedCount } from "../recorded-values.js";
import { UNKNOWN_GENESIS } from "../rpc/rpc-client.js";
import { settlementCall } from "../simulation/engine.js";
import { isSignedAs, transactionSchema } from "./transaction.js";
import { SETTLEMENT_STATUSES } from "./types.js";

/** Only the owner reads and writes it. */
const FILE_MODE = 0o600;

function parseRound(round: unknown, { addIssue }: z.RefinementCtx): VaultRound {
  try {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of operations makes both the check and the type
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
    /** Local nodes share a chain id, but not the first block. */
    genesisHash: z.string(),
    vault: recordedAddress,
    /** Outcome of a finished settlement whose transaction was mined. */
    mined: z
      .object({
        status: z.enum(SETTLEMENT_STATUSES),
        blockNumber: recordedCount,
      })
      .strict()
      .optional(),
    /** Guard that the transaction goes to; absent if it goes to the vault. */
    guard: recordedAddress.optional(),
    /** Latest block before it was sent. */
    sentAfterBlock: recordedCount,
    round: z.unknown().transform(parseRound),
    transaction: transactionSchema,
  })
  .strict();

type JournalFile = Readonly<z.infer<typeof fileSchema>>;

/** Vault that a journal belongs to. */
type Subject = Pick<JournalFile, "chainId" | "genesisHash" | "vault">;

/** Record of a settlement, written before it is sent. */
export type JournalEntry = Omit<JournalFile, "version" | keyof Subject>;

/**
 * Latest settlement of one vault on one chain, in a file of the project. The file is also
 * the lock: it is created exclusively, and renamed when the outcome is known. It holds no
 * key, only the signed transaction that was confirmed.
 */
export class Journal {
  /** Relative to the project's root, for texts. */
  public readonly file: string;
  readonly #finishedFile: string;

  constructor(
    private readonly projectRoot: string,
    private readonly subject: Subject,
    /** False in process, where nothing outlives the process. */
    public readonly isKept = true,
  ) {
    const { chainId, vault } = subject;
    const name = `${PROJECT_FOLDER}/settlement-${chainId}-${vault.toLowerCase()}`;
    this.file = `${name}.json`;
    this.#finishedFile = `${name}.finished.json`;
  }

  public static async open(
    vault: VaultHost,
    chainId: number,
    address: string,
  ): Promise<Journal> {
    const isKept = vault.connection.networkConfig.type === "http";
    const genesisHash = isKept
      ? await vault.rpc.genesisHash()
      : UNKNOWN_GENESIS;
    const { root } = vault.context.config.paths;
    return new Journal(root, { chainId, genesisHash, vault: address }, isKept);
  }

  /**
   * @returns Undefined if there is none. A file from before a restart of a local node
   * counts as none.
   */
  public async read(
    which: "unfinished" | "finished" = "unfinished",
  ): Promise<JournalEntry | undefined> {
    const found = await this.#read(
      which === "finished" ? this.#finishedFile : this.file,
    );
    return this.#isOfThisChain(found) ? found : undefined;
  }

  /**
   * Refuses a new settlement while the outcome of another on this chain is not known: two
   * transactions could settle two rounds.
   */
  public async refuseUnfinished(): Promise<void> {
    const found = await this.#read(this.file);
    if (found !== undefined && !this.#isOfThisChain(found)) {
      await rm(path.join(this.projectRoot, this.file), { force: true });
    } else if (found !== undefined) {
      const { hash, nonce } = found.transaction;
      throw vaultError("VAULT_SETTLEMENT_UNFINISHED", {
        transaction: hash ?? `with nonce ${nonce}, its hash not known`,
        file: this.file,
      });
    }
  }

  /**
   * Writes the entry of a new settlement. Of several processes, only one succeeds.
   *
   * @throws VaultError VAULT_SETTLEMENT_UNFINISHED if one is under way,
   * VAULT_JOURNAL_NOT_WRITTEN, VAULT_INVALID_JOURNAL
   */
  public async begin(entry: JournalEntry): Promise<void> {
    try {
      await this.#write(createProjectFile, entry);
    } catch (error) {
      await this.refuseUnfinished();
      throw error;
    }
  }

  /**
   * Updates the entry, unless another process resumed and finished the settlement: the
   * file may already belong to the next one.
   *
   * @param isFinished Lets the next settlement begin.
   */
  public async update(entry: JournalEntry, isFinished = false): Promise<void> {
    const { nonce, from } = entry.transaction;
    const present = (await this.read())?.transaction;
    if (present?.nonce === nonce && isSameAddress(present.from, from)) {
      await this.#write(writeProjectFile, entry);
      if (isFinished) {
        const { projectRoot: root, file } = this;
        await rename(
          path.join(root, file),
          path.join(root, this.#finishedFile),
        ).catch(this.#notWritten);
      }
    }
  }

  async #write(
    write: typeof createProjectFile,
    entry: JournalEntry,
  ): Promise<void> {
    const content: JournalFile = { version: 1, ...this.subject, ...entry };
    if (this.isKept) {
      await write(this.projectRoot, this.file, content, FILE_MODE).catch(
        this.#notWritten,
      );
    }
  }

  async #read(file: string): Promise<JournalFile | undefined> {
    const invalid = (problem: string, cause?: unknown): VaultError =>
      vaultError("VAULT_INVALID_JOURNAL", { file, problem }, cause);
    const { projectRoot } = this;
    const found = this.isKept
      ? await readProjectFile(projectRoot, file, fileSchema, invalid)
      : undefined;
    const problem = found === undefined ? undefined : this.#problemOf(found);
    if (problem !== undefined) {
      throw invalid(problem);
    }
    return found;
  }

  #isOfThisChain(found: JournalFile | undefined): boolean {
    const hashes = [found?.genesisHash, this.subject.genesisHash];
    return hashes[0] === hashes[1] || hashes.includes(UNKNOWN_GENESIS);
  }

  /** A changed file must not make the package send another transaction. */
  #problemOf(found: JournalFile): string | undefined {
    const { chainId, vault } = this.subject;
    const { transaction, guard } = found;
    const { from, to, data, raw } = transaction;
    if (
      found.chainId !== chainId ||
      transaction.chainId !== chainId ||
      !isSameAddress(found.vault, vault)
    ) {
      return `it is of vault ${found.vault} on chain ${found.chainId}, not of vault ${vault} on chain ${chainId}`;
    }
    if (!isSameAddress(to, guard ?? vault)) {
      return `its transaction goes to ${to}, not to the ${guard === undefined ? `vault ${vault}` : `guard ${guard}`}`;
    }
    if (guard === undefined && data !== settlementCall({ from, vault }).data) {
      return "its transaction does not call settleAll";
    }
    if (guard !== undefined && !isOfGuard(found, guard)) {
      return "its transaction does not settle its round through its guard";
    }
    return raw === undefined || isSignedAs(raw, transaction)
      ? undefined
      : "its signed bytes are not its transaction";
  }

  readonly #notWritten = (error: unknown): never => {
    const details = { file: this.file, problem: reasonOf(error) };
    throw vaultError("VAULT_JOURNAL_NOT_WRITTEN", details, error);
  };
}

function isOfGuard(
  { vault, round, transaction }: JournalFile,
  guard: string,
): boolean {
  const call = parseGuarded(guard, transaction.data);
  return (
    call !== undefined &&
    isSameAddress(call.vault, vault) &&
    call.guard.round.startTime === round.startTime &&
    call.guard.round.strikePrice === round.strikePrice
  );
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

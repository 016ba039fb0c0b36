import { rm, stat } from "node:fs/promises";
import path from "node:path";

import { z } from "zod";

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import {
  PROJECT_FOLDER,
  createProjectFile,
  readProjectFile,
  reasonOf,
  writeProjectFile,
} from "../files/project-file.js";
import {
  recordedAddress,
  recordedCount,
  recordedHash,
  recordedInteger,
} from "../files/recorded-values.js";
import type { Schema } from "../files/recorded-values.js";
import { settlementCall } from "../guard/call.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { UNKNOWN_GENESIS, getGenesisHash } from "../rpc/blocks.js";
import { isDevelopmentNodeNow } from "../rpc/development-node.js";
import { isSignedAs, newestOf, sentSchema } from "./transaction.js";
import type { SentTransaction } from "./transaction.js";

/** Never one journal for both: a fork has the chain id and the genesis of its chain. */
export type ChainKind = "live" | "development";

const minedSchema = z
  .object({
    status: z.string(),
    /** Error code of the outcome. */
    code: z.string().optional(),
    blockNumber: recordedCount,
    hash: recordedHash,
  })
  .strict();

const roundSchema = z
  .object({
    strikePrice: recordedInteger,
    APY: recordedInteger,
    maxVolume: recordedInteger,
    filledVolume: recordedInteger,
    minDeposit: recordedInteger,
    startTime: recordedInteger,
    endTime: recordedInteger,
    settledPrice: recordedInteger,
    settledAmount: recordedInteger,
    settled: z.boolean(),
  } satisfies Readonly<Record<keyof VaultRound, Schema>>)
  .strict();

const journalSchema = z
  .object({
    version: z.literal(1),
    chainKind: z.enum(["live", "development"]),
    chainId: recordedCount,
    genesisHash: z.string(),
    vault: recordedAddress,
    /** Outcome of a finished settlement, with the transaction that was mined. */
    mined: minedSchema.optional(),
    /** An earlier settlement of the same round that was mined and reverted. */
    reverted: minedSchema.optional(),
    /** True once another process may have sent the transactions. */
    resumed: z.literal(true).optional(),
    /** Guard that the transaction goes to; absent if it goes to the vault. */
    guard: recordedAddress.optional(),
    /** True if it must not be sent before the round's end. */
    ifExpired: z.literal(true).optional(),
    /** Latest block before it was sent. */
    sentAfterBlock: recordedCount,
    round: roundSchema,
    /** Oldest first: the settlement, then what replaced it. */
    transactions: z.tuple([sentSchema]).rest(sentSchema),
  })
  .strict();

type JournalFile = Readonly<z.infer<typeof journalSchema>>;

/** Vault that a journal belongs to. */
type JournalSubject = Pick<
  JournalFile,
  "chainKind" | "chainId" | "genesisHash" | "vault"
>;

/** Record of a settlement, written before it is sent. */
export type JournalEntry = Omit<JournalFile, "version" | keyof JournalSubject>;

/** Only the owner reads and writes it. */
const FILE_MODE = 0o600;
/** A file is empty only between two system calls, where there are no hard links. */
const EMPTY_MS = 60_000;

/** Asks of which kind the chain is now; in process, where no journal is kept, nothing. */
async function askChainKind(vault: VaultHost): Promise<ChainKind> {
  return isKeptBy(vault) && !(await isDevelopmentNodeNow(vault.rpc))
    ? "live"
    : "development";
}

function isKeptBy({ connection }: VaultHost): boolean {
  return connection.networkConfig.type === "http";
}

/**
 * Latest settlement of one vault on one kind of chain, in a file of the project, which holds
 * no key, only the signed transactions. The file is also the lock: it is created exclusively,
 * and goes to another name when the outcome is known.
 */
export class Journal {
  /** Relative to the project's root, for texts. */
  public readonly file: string;
  public readonly finishedFile: string;
  public readonly chainKind: ChainKind;

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
    this.chainKind = chainKind;
  }

  public static async of(
    vault: VaultHost,
    chainId: number,
    address: Address,
  ): Promise<Journal> {
    const { root } = vault.context.config.paths;
    const [chainKind, genesisHash] = await Promise.all([
      askChainKind(vault),
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
    const found = await this.#load(this.file);
    const { chainKind, genesisHash } = this.subject;
    if (found === undefined || this.#isOfChain(found)) {
      return found;
    }
    if (chainKind === "development") {
      return undefined;
    }
    throw vaultError("VAULT_JOURNAL_OF_OTHER_CHAIN", {
      file: this.file,
      transaction: describeTransaction(found),
      chainId: found.chainId,
      genesis: found.genesisHash,
      found: genesisHash === UNKNOWN_GENESIS ? "nothing" : genesisHash,
      from: found.transactions[0].from,
    });
  }

  /**
   * Reads the last finished settlement, if it was on this chain.
   *
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async readFinished(): Promise<JournalEntry | undefined> {
    const found = await this.#load(this.finishedFile);
    // A node that has pruned its first block may be of that chain, and a revert costs.
    const isOwn =
      found !== undefined &&
      (this.#isOfChain(found) || this.subject.genesisHash === UNKNOWN_GENESIS);
    return isOwn ? found : undefined;
  }

  /**
   * @returns The last settlement of this round that was mined and reverted.
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async findReverted(round: VaultRound): Promise<JournalEntry["mined"]> {
    const last = await this.readFinished();
    if (last === undefined || !isSameRound(last.round, round)) {
      return undefined;
    }
    return last.mined?.status === "reverted" ? last.mined : last.reverted;
  }

  /**
   * Refuses a new settlement while the outcome of another on this chain is not known: two
   * transactions could settle two rounds.
   *
   * @throws VaultError VAULT_SETTLEMENT_UNFINISHED, VAULT_INVALID_JOURNAL,
   * VAULT_JOURNAL_OF_OTHER_CHAIN
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
    if (this.chainKind === "development") {
      await this.#remove(this.file);
    }
  }

  /**
   * Writes the entry of a new settlement. Of several processes, only one succeeds.
   *
   * @throws VaultError as {@link refuseUnfinished}, VAULT_JOURNAL_NOT_WRITTEN
   */
  public async begin(entry: JournalEntry): Promise<void> {
    try {
      await this.#write(this.file, entry, createProjectFile);
    } catch (error) {
      await this.refuseUnfinished();
      throw error;
    }
  }

  /**
   * Writes the entry.
   *
   * @returns False if another process has finished the settlement, or has added a
   * transaction that the entry lacks.
   */
  public async update(entry: JournalEntry): Promise<boolean> {
    return await this.#replace(entry, async ({ resumed }) => {
      const all = { ...entry, resumed: entry.resumed ?? resumed };
      await this.#write(this.file, all);
    });
  }

  /**
   * Removes an entry of which nothing has left, unless another process resumed it. The last
   * finished settlement stays known.
   */
  public async abandon(entry: JournalEntry): Promise<void> {
    await this.#replace(entry, async ({ resumed }) => {
      if (resumed !== true) {
        await this.#remove(this.file);
      }
    });
  }

  /**
   * Lets the next settlement begin. On a live chain the entry is kept, and a revert of its
   * round that was paid for stays known.
   */
  public async finish(entry: JournalEntry): Promise<void> {
    await this.#replace(entry, async () => {
      if (this.chainKind === "live") {
        const reverted = await this.findReverted(entry.round).catch(
          fallbackTo(undefined),
        );
        await this.#write(this.finishedFile, { ...entry, reverted });
      }
      await this.#remove(this.file);
    });
  }

  /**
   * Changes the file, unless it is of another settlement by now, or has a transaction that
   * the entry lacks.
   *
   * Another process may change it between the look and the write. It follows the same
   * settlement then, whose transactions share one nonce: at most one of them is mined, and
   * the chain shows it by that nonce, whatever the file has.
   *
   * @returns False if it was not changed.
   */
  async #replace(
    entry: JournalEntry,
    change: (present: JournalEntry) => Promise<void>,
  ): Promise<boolean> {
    const present = this.isKept ? await this.read() : entry;
    const isWhole = present?.transactions.every((one) =>
      entry.transactions.some(
        ({ from, nonce, preparedAt, raw }) =>
          from === one.from &&
          nonce === one.nonce &&
          preparedAt === one.preparedAt &&
          raw === one.raw,
      ),
    );
    if (present === undefined || isWhole !== true) {
      return false;
    }
    await change(present);
    return true;
  }

  #isOfChain({ genesisHash }: JournalFile): boolean {
    const { genesisHash: own } = this.subject;
    return (
      genesisHash === own ||
      // A pruned node has no first block: what it began is of the chain with its id.
      genesisHash === UNKNOWN_GENESIS ||
      (this.chainKind === "development" && own === UNKNOWN_GENESIS)
    );
  }

  async #load(file: string): Promise<JournalFile | undefined> {
    const { projectRoot, subject, isKept } = this;
    if (!isKept) {
      return undefined;
    }
    const { size = 1, mtimeMs = 0 } =
      (await stat(path.join(projectRoot, file)).catch(() => undefined)) ?? {};
    // A process that was killed before it wrote anything has sent nothing. One that runs
    // may be about to write.
    if (size === 0 && Date.now() - mtimeMs > EMPTY_MS) {
      await this.#remove(file);
      return undefined;
    }
    const invalid = (problem: string, cause?: unknown): VaultError => {
      // As after a run as root.
      const isForbidden = /\b(?:EACCES|EPERM)\b/u.test(problem);
      const remedy = isForbidden
        ? `Give it to the user who runs this task (chown), and do not delete it: it is the record of a settlement.`
        : `The file may be the only record of a transaction that was sent. Read it and check the account on the chain before you delete it.`;
      const details = { file, problem, remedy };
      return vaultError("VAULT_INVALID_JOURNAL", details, cause);
    };
    const found = await readProjectFile(
      projectRoot,
      file,
      journalSchema,
      invalid,
    );
    const problem = found === undefined ? undefined : problemOf(found, subject);
    if (problem !== undefined) {
      throw invalid(problem);
    }
    return found;
  }

  async #write(
    file: string,
    entry: JournalEntry,
    write: typeof createProjectFile = writeProjectFile,
  ): Promise<void> {
    const { projectRoot, subject, isKept } = this;
    const content: JournalFile = { version: 1, ...subject, ...entry };
    if (isKept) {
      await write(projectRoot, file, content, FILE_MODE).catch(
        this.#notWritten,
      );
    }
  }

  async #remove(file: string): Promise<void> {
    if (this.isKept) {
      await rm(path.join(this.projectRoot, file), { force: true }).catch(
        this.#notWritten,
      );
    }
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

function describeSubject({
  vault,
  chainKind,
  chainId,
}: JournalSubject): string {
  return `vault ${vault} on ${chainKind} chain ${chainId}`;
}

/** A changed file must not make the package send another transaction. */
function problemOf(
  found: JournalFile,
  subject: JournalSubject,
): string | undefined {
  const [is, expected] = [describeSubject(found), describeSubject(subject)];
  if (is.toLowerCase() !== expected.toLowerCase()) {
    return `it is of ${is}, not of ${expected}`;
  }
  const { guard, transactions } = found;
  const [{ from, nonce }] = transactions;
  for (const transaction of transactions) {
    const { chainId, raw, kind, to, data } = transaction;
    if (
      chainId !== found.chainId ||
      transaction.nonce !== nonce ||
      transaction.from !== from
    ) {
      return "its transactions have not the same chain, account and nonce";
    }
    if (kind === "settlement" && !settles(found, transaction)) {
      return `its transaction does not settle its round through the ${guard === undefined ? `vault ${found.vault}` : `guard ${guard}`}`;
    }
    if (
      kind === "cancellation" &&
      !(isSameAddress(to, from) && data === "0x")
    ) {
      return "its cancellation is not a transfer to the account itself";
    }
    if (raw !== undefined && !isSignedAs(raw, transaction)) {
      return "its signed bytes are not its transaction";
    }
  }
  return undefined;
}

function settles(
  { vault, guard, round }: JournalFile,
  { from, to, data }: SentTransaction,
): boolean {
  if (guard === undefined) {
    const call = settlementCall({ from, vault });
    return isSameAddress(to, vault) && data === call.data;
  }
  const guarded = parseGuarded(guard, data);
  return (
    isSameAddress(to, guard) &&
    isSameAddress(guarded?.vault, vault) &&
    isSameRound({ ...round, ...guarded?.guard.round }, round)
  );
}

function isSameAddress(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

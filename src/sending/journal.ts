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
  recordedRound,
} from "../files/recorded-values.js";
import { settlementCall } from "../guard/call.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { UNKNOWN_GENESIS, getGenesisHash } from "../rpc/blocks.js";
import { isDevelopmentNodeNow } from "../rpc/chain.js";
import { isSignedAs, newestOf, sentSchema } from "./transaction.js";
import type { SentTransaction } from "./transaction.js";

/** Never one journal for both: a fork has the chain id and the genesis of its chain. */
export type ChainKind = "live" | "development";

const endSchema = z
  .object({
    status: z.string(),
    /** Error code of the outcome. */
    code: z.string().optional(),
    reason: z.string().optional(),
  })
  .strict();

const minedSchema = endSchema.extend({
  blockNumber: recordedCount,
  hash: recordedHash,
});

const journalSchema = z
  .object({
    version: z.literal(1),
    chainKind: z.enum(["live", "development"]),
    chainId: recordedCount,
    genesisHash: z.string(),
    vault: recordedAddress,
    /** Outcome of a finished settlement, with the transaction that was mined. */
    mined: minedSchema.optional(),
    /** Outcome of a finished settlement of which no transaction was mined. */
    unmined: endSchema.optional(),
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
    round: recordedRound,
    /** Oldest first: the settlement, then what replaced it. */
    transactions: z.tuple([sentSchema]).rest(sentSchema).readonly(),
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

const ONLY_OWNER = 0o600;
/** A file is empty only between two system calls, where there are no hard links. */
const EMPTY_MS = 60_000;

/** Asks the node of which kind the chain is now. In process no node is asked: no journal is kept. */
async function askChainKind({
  rpc,
  connection,
}: VaultHost): Promise<ChainKind> {
  const isKept = connection.networkConfig.type === "http";
  return isKept && !(await isDevelopmentNodeNow(rpc)) ? "live" : "development";
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
    const isKept = vault.connection.networkConfig.type === "http";
    const chainKind = await askChainKind(vault);
    const genesisHash = isKept
      ? await getGenesisHash(vault.rpc)
      : UNKNOWN_GENESIS;
    const subject = { chainKind, chainId, genesisHash, vault: address };
    return new Journal(root, subject, isKept);
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
    const isDevelopment = chainKind === "development";
    if (found === undefined || this.#isOfChain(found, isDevelopment)) {
      return found;
    }
    if (isDevelopment) {
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
    return found !== undefined && this.#isOfChain(found, true)
      ? found
      : undefined;
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
    if (this.chainKind === "live") {
      await this.#replace(entry, async () => {
        const reverted = await this.findReverted(entry.round).catch(
          fallbackTo(undefined),
        );
        await this.#write(this.finishedFile, { ...entry, reverted });
      });
    }
    await this.#replace(entry, async () => await this.#remove(this.file));
  }

  /**
   * Changes the file, unless it is of another settlement by now, or has a transaction that
   * the entry lacks.
   *
   * Another process may write between this look and this write. Both follow one settlement
   * then, whose transactions share one nonce: the chain mines at most one of them, and shows
   * it by that nonce, whatever the file has. A next settlement cannot begin in between: it
   * reads the chain and simulates after the file is gone, and this takes milliseconds.
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

  /** @param isLenient True if a node that has pruned its first block may be of that chain. */
  #isOfChain({ genesisHash }: JournalFile, isLenient: boolean): boolean {
    const { genesisHash: own } = this.subject;
    return (
      genesisHash === own ||
      // What a pruned node began is of the chain with its id.
      genesisHash === UNKNOWN_GENESIS ||
      (isLenient && own === UNKNOWN_GENESIS)
    );
  }

  async #load(file: string): Promise<JournalFile | undefined> {
    const { projectRoot, subject, isKept } = this;
    if (!isKept) {
      return undefined;
    }
    const { size, mtimeMs } = await stat(this.#path(file)).catch(() => ({
      size: undefined,
      mtimeMs: 0,
    }));
    // A process that was killed before it wrote anything has sent nothing. One that runs
    // may be about to write.
    if (size === 0 && Date.now() - mtimeMs > EMPTY_MS) {
      await this.#remove(file);
      return undefined;
    }
    const invalid = (problem: string, cause?: unknown): VaultError => {
      // As after a run as root.
      const remedy = /\b(?:EACCES|EPERM)\b/u.test(problem)
        ? "Give it to the user who runs this task (chown), and do not delete it: it is the record of a settlement."
        : "The file may be the only record of a transaction that was sent. Read it and check the account on the chain before you rename it. Keep it.";
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
      await write(projectRoot, file, content, ONLY_OWNER).catch(
        this.#notWritten,
      );
    }
  }

  async #remove(file: string): Promise<void> {
    if (this.isKept) {
      await rm(this.#path(file), { force: true }).catch(this.#notWritten);
    }
  }

  #path(file: string): string {
    return path.join(this.projectRoot, file);
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
  const { chainId, vault, guard, transactions } = found;
  const [{ from, nonce }] = transactions;
  for (const one of transactions) {
    if (
      [one.chainId, one.nonce, one.from].join() !==
      [chainId, nonce, from].join()
    ) {
      return "its transactions have not the same chain, account and nonce";
    }
    if (one.kind === "settlement" && !settles(found, one)) {
      const way = guard === undefined ? `vault ${vault}` : `guard ${guard}`;
      return `its transaction does not settle its round through the ${way}`;
    }
    const isToItself = isSameAddress(one.to, from) && one.data === "0x";
    if (one.kind === "cancellation" && !isToItself) {
      return "its cancellation is not a transfer to the account itself";
    }
    if (one.raw !== undefined && !isSignedAs(one.raw, one)) {
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

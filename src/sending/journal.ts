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
  recordedAddress,
  recordedCount,
  recordedHash,
  recordedRound,
} from "../files/project-file.js";
import { settlementCall } from "../guard/call.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import { UNKNOWN_GENESIS, getGenesisHash } from "../rpc/blocks.js";
import { isDevelopmentNodeNow } from "../rpc/chain.js";
import { isSignedAs, newestOf, sentSchema } from "./transaction.js";
import type { SentTransaction } from "./transaction.js";

const chainKinds = ["live", "development"] as const;

/** Never one journal for both: a fork has the chain id and the genesis of its chain. */
export type ChainKind = (typeof chainKinds)[number];

/** The transaction that was mined. */
const minedSchema = z
  .object({ blockNumber: recordedCount, hash: recordedHash })
  .strict();

const endSchema = z
  .object({
    status: z.string(),
    /** Error code of the settlement. */
    code: z.string().optional(),
    reason: z.string().optional(),
    mined: minedSchema.optional(),
  })
  .strict();

const journalSchema = z
  .object({
    version: z.literal(1),
    chainKind: z.enum(chainKinds),
    chainId: recordedCount,
    genesisHash: z.string(),
    vault: recordedAddress,
    /** Of a finished settlement. */
    end: endSchema.optional(),
    /** An earlier settlement of the same round that was mined and reverted. */
    reverted: minedSchema.optional(),
    /** True once another process may have sent the transactions. */
    resumed: z.literal(true).optional(),
    /** Guard that the transaction goes to; absent if it goes to the vault. */
    guard: recordedAddress.optional(),
    /** True if it must not be sent before the round's end. */
    ifExpired: z.literal(true).optional(),
    /** True if it may be one of several steps, and leave the round open. */
    partial: z.literal(true).optional(),
    /** Latest block before it was sent. */
    sentAfterBlock: recordedCount,
    round: recordedRound,
    /** Oldest first: the settlement, then what replaced it. */
    transactions: z.tuple([sentSchema]).rest(sentSchema).readonly(),
  })
  .strict();

type JournalFile = Readonly<z.infer<typeof journalSchema>>;

/** Vault that a journal belongs to. */
type Subject = Pick<
  JournalFile,
  "chainKind" | "chainId" | "genesisHash" | "vault"
>;

/** Record of a settlement, written before it is sent. */
export type JournalEntry = Omit<JournalFile, "version" | keyof Subject>;

const ONLY_OWNER = 0o600;
/** A file is empty only between two system calls, where there are no hard links. */
const EMPTY_MS = 60_000;

/** Nothing in process outlives the process, so no journal is kept. */
function isKeptFor({ connection }: VaultHost): boolean {
  return connection.networkConfig.type === "http";
}

/** In process no node is asked. */
async function askChainKind(vault: VaultHost): Promise<ChainKind> {
  const isLive = isKeptFor(vault) && !(await isDevelopmentNodeNow(vault.rpc));
  return isLive ? "live" : "development";
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
    private readonly subject: Subject,
    /** False in process. */
    public readonly isKept = true,
  ) {
    const { chainKind, chainId, vault } = subject;
    const name = `${PROJECT_FOLDER}/settlement-${chainKind}-${chainId}-${vault.toLowerCase()}`;
    this.file = `${name}.json`;
    this.finishedFile = `${name}.finished.json`;
    this.chainKind = chainKind;
  }

  public static async of(
    host: VaultHost,
    chainId: number,
    vault: Address,
  ): Promise<Journal> {
    const isKept = isKeptFor(host);
    const chainKind = await askChainKind(host);
    const genesisHash = isKept
      ? await getGenesisHash(host.rpc)
      : UNKNOWN_GENESIS;
    const subject = { chainKind, chainId, genesisHash, vault };
    return new Journal(host.context.config.paths.root, subject, isKept);
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
    return this.#unfinishedIn(await this.#loadOrRemoveEmpty(this.file));
  }

  #unfinishedIn(found: JournalFile | undefined): JournalFile | undefined {
    const { chainKind, genesisHash } = this.subject;
    if (chainKind === "development") {
      return this.#ofThisChain(found);
    }
    // A live node that has pruned its first block may be of another chain.
    const known = [genesisHash, UNKNOWN_GENESIS];
    if (found === undefined || known.includes(found.genesisHash)) {
      return found;
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
    return this.#ofThisChain(await this.#loadOrRemoveEmpty(this.finishedFile));
  }

  /** A first block that a node has pruned may be any. */
  #ofThisChain(found: JournalFile | undefined): JournalFile | undefined {
    const hashes = [this.subject.genesisHash, found?.genesisHash];
    return hashes.includes(UNKNOWN_GENESIS) || hashes[0] === hashes[1]
      ? found
      : undefined;
  }

  /**
   * @returns VAULT_REVERTED_BEFORE if the last settlement of this round that was mined
   * reverted.
   * @throws VaultError VAULT_INVALID_JOURNAL
   */
  public async findRevertBefore(
    network: string,
    round: VaultRound,
  ): Promise<VaultError | undefined> {
    const reverted = await this.#findReverted(round);
    if (reverted === undefined) {
      return undefined;
    }
    const { hash, blockNumber: block } = reverted;
    return vaultError("VAULT_REVERTED_BEFORE", { network, hash, block });
  }

  async #findReverted(round: VaultRound): Promise<JournalEntry["reverted"]> {
    const last = await this.readFinished();
    if (last === undefined || !isSameRound(last.round, round)) {
      return undefined;
    }
    const { end, reverted } = last;
    return end?.status === "reverted" ? end.mined : reverted;
  }

  /**
   * Refuses a new settlement while the outcome of another on this chain is not known: two
   * transactions could settle two rounds. Else removes a file that a development node left
   * behind before it was restarted.
   *
   * @throws VaultError VAULT_SETTLEMENT_UNFINISHED, VAULT_INVALID_JOURNAL,
   * VAULT_JOURNAL_OF_OTHER_CHAIN
   */
  public async refuseUnfinishedElseClear(): Promise<void> {
    const present = await this.#loadOrRemoveEmpty(this.file);
    const unfinished = this.#unfinishedIn(present);
    if (unfinished !== undefined) {
      const transaction = describeTransaction(unfinished);
      const details = { transaction, file: this.file };
      throw vaultError("VAULT_SETTLEMENT_UNFINISHED", details);
    }
    if (present !== undefined) {
      await this.#put(this.file, undefined);
    }
  }

  /**
   * Writes the entry of a new settlement. Of several processes, only one succeeds.
   *
   * @throws VaultError as {@link refuseUnfinishedElseClear}, VAULT_JOURNAL_NOT_WRITTEN
   */
  public async begin(entry: JournalEntry): Promise<void> {
    const create = async (): Promise<void> =>
      await this.#put(this.file, entry, createProjectFile);
    await create().catch(async (error: unknown) => {
      await this.refuseUnfinishedElseClear();
      // The other has finished meanwhile. Where it costs money, the next run looks at what it
      // did, and simulates again.
      if (this.chainKind === "live") {
        throw error;
      }
      await create();
    });
  }

  /**
   * @returns False if another process has finished the settlement, or has added a
   * transaction that the entry lacks: nothing is written then.
   */
  public async update(entry: JournalEntry): Promise<boolean> {
    const present = await this.#readIfOurs(entry);
    if (present !== undefined) {
      const resumed = entry.resumed ?? present.resumed;
      await this.#put(this.file, { ...entry, resumed });
    }
    return present !== undefined;
  }

  /**
   * Removes an entry of which nothing has left. The last finished settlement stays known.
   *
   * @returns False if another process has resumed or finished it: that one may have sent it.
   */
  public async abandon(entry: JournalEntry): Promise<boolean> {
    const present = await this.#readIfOurs(entry);
    const isOurs = present !== undefined && present.resumed !== true;
    if (isOurs) {
      await this.#put(this.file, undefined);
    }
    return isOurs;
  }

  /**
   * Lets the next settlement begin. On a live chain the entry is kept, and a revert of its
   * round that was paid for stays known.
   */
  public async finish(entry: JournalEntry): Promise<void> {
    if ((await this.#readIfOurs(entry)) === undefined) {
      return;
    }
    if (this.chainKind === "live") {
      const reverted = await this.#findReverted(entry.round).catch(
        fallbackTo(undefined),
      );
      await this.#put(this.finishedFile, { ...entry, reverted });
    }
    await this.#put(this.file, undefined);
  }

  /**
   * Looks at the file before it is changed.
   *
   * Another process may write between this look and the change. Both follow one settlement
   * then, whose transactions share one nonce: the chain mines at most one of them, and shows
   * it by that nonce, whatever the file has. A next settlement cannot begin in between: it
   * reads the chain and simulates after the file is gone, and this takes milliseconds.
   *
   * @returns Undefined if it is of another settlement by now, or has a transaction that the
   * entry lacks.
   */
  async #readIfOurs(entry: JournalEntry): Promise<JournalEntry | undefined> {
    const present = this.isKept ? await this.read() : entry;
    const known = entry.transactions.map(identityOf);
    const isWhole = present?.transactions.every((one) =>
      known.includes(identityOf(one)),
    );
    return isWhole === true ? present : undefined;
  }

  async #loadOrRemoveEmpty(file: string): Promise<JournalFile | undefined> {
    if (!this.isKept) {
      return undefined;
    }
    const found = await stat(path.join(this.projectRoot, file)).catch(
      () => undefined,
    );
    // A process that was killed before it wrote anything has sent nothing. One that runs
    // may be about to write.
    if (found?.size === 0 && Date.now() - found.mtimeMs > EMPTY_MS) {
      await this.#put(file, undefined);
      return undefined;
    }
    const invalid = (problem: string, cause?: unknown): VaultError =>
      vaultError("VAULT_INVALID_JOURNAL", { file, problem }, cause);
    const read = await readProjectFile(
      this.projectRoot,
      file,
      journalSchema,
      invalid,
    );
    if (read === undefined) {
      return undefined;
    }
    const [is, expected] = [read, this.subject].map(describeSubject);
    if (is !== expected) {
      throw invalid(`it is of ${is}, not of ${expected}`);
    }
    if (!read.transactions.every((one) => belongsTo(read, one))) {
      throw invalid("a transaction in it is not of its settlement");
    }
    return read;
  }

  /**
   * Writes an entry, or removes the file.
   *
   * @throws VaultError VAULT_JOURNAL_NOT_WRITTEN
   */
  async #put(
    file: string,
    entry: JournalEntry | undefined,
    write: typeof createProjectFile = writeProjectFile,
  ): Promise<void> {
    const { projectRoot, subject, isKept } = this;
    if (!isKept) {
      return;
    }
    try {
      if (entry === undefined) {
        await rm(path.join(projectRoot, file), { force: true });
      } else {
        const content: JournalFile = { version: 1, ...subject, ...entry };
        await write(projectRoot, file, content, ONLY_OWNER);
      }
    } catch (error) {
      const details = { file, problem: reasonOf(error) };
      throw vaultError("VAULT_JOURNAL_NOT_WRITTEN", details, error);
    }
  }
}

/** A hash may be noted later. */
function identityOf({ from, nonce, preparedAt, raw }: SentTransaction): string {
  return [from, nonce, preparedAt, raw].join();
}

export function describeTransaction(
  entry: Pick<JournalEntry, "transactions">,
): string {
  const { hash, nonce } = newestOf(entry);
  return hash ?? `with nonce ${nonce}, its hash not known`;
}

function describeSubject({ vault, chainKind, chainId }: Subject): string {
  return `vault ${vault.toLowerCase()} on ${chainKind} chain ${chainId}`;
}

/**
 * A changed file must not make the package send another transaction: each is the settlement
 * or its cancellation, with one nonce of one account, and its bytes are what it says.
 */
function belongsTo(entry: JournalFile, one: SentTransaction): boolean {
  const { from, nonce } = entry.transactions[0];
  return (
    one.chainId === entry.chainId &&
    one.nonce === nonce &&
    one.from === from &&
    (one.kind === "settlement"
      ? settles(entry, one)
      : isSameAddress(one.to, from) && one.data === "0x") &&
    (one.raw === undefined || isSignedAs(one.raw, one))
  );
}

function settles(
  { vault, guard, round }: JournalFile,
  { from, to, data }: SentTransaction,
): boolean {
  if (guard === undefined) {
    const call = settlementCall({ from, vaultAddress: vault });
    return isSameAddress(to, vault) && data === call.data;
  }
  const guarded = parseGuarded(guard, data);
  return (
    isSameAddress(to, guard) &&
    isSameAddress(guarded?.vaultAddress, vault) &&
    isSameRound({ ...round, ...guarded?.guard.round }, round)
  );
}

function isSameAddress(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

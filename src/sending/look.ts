import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { Stopped } from "../guard/outcome.js";
import type { Hex } from "../protocol/index.js";
import { getNonce } from "../rpc/accounts.js";
import { getBlockNumber } from "../rpc/blocks.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../rpc/transactions.js";
import type { Receipt, SeenTransaction } from "../rpc/transactions.js";
import { describeProblem, newestOf } from "./transaction.js";
import type { SentTransaction, SentTransactions } from "./transaction.js";

/**
 * Reads the round, as the last request before a transaction leaves.
 *
 * @param at Default: the newest block, which must be recent.
 * @returns The obstacle to settling the round, if there is one.
 * @throws VaultError VAULT_STALE_HEAD, VAULT_RPC_TIMEOUT, and other errors of a request
 */
export type CheckRound = (at?: number) => Promise<Stopped | undefined>;

/** What is looked for. */
export interface Sought {
  /** Without retries: each look is one. */
  readonly rpc: RpcClient;
  readonly checkRound: CheckRound;
  readonly confirmations: number;
  /** Latest block before the first transaction was sent. */
  readonly sentAfterBlock: number;
}

export interface Mined {
  readonly kind: "mined";
  readonly hash: Hex;
  readonly receipt: Receipt;
  /** The one of the transactions that was mined. */
  readonly transaction: SentTransaction;
}

/** What one look at the chain shows of transactions that share a nonce. */
export type Seen = Looked & {
  /** A clause. */
  readonly text: string;
};

type Looked =
  | (Mined & { readonly depth: number })
  /** In the node's pool; without a hash if only the nonce is used there. */
  | { readonly kind: "pending"; readonly hash?: Hex }
  /** Another transaction used their nonce, if its block is found. */
  | {
      readonly kind: "replaced";
      readonly by?: Hex;
      /** True if that block may be one whose state the node has pruned. */
      readonly isPruned?: boolean;
      readonly depth: number;
    }
  /** The node has none of them, and their nonce is free. */
  | { readonly kind: "absent"; readonly round: RoundSeen }
  | { readonly kind: "unread" };

export type RoundSeen =
  | { readonly kind: "open" }
  /** It is settled, another one is the latest, or it has not ended yet. */
  | {
      readonly kind: "closed";
      readonly why: Stopped;
      /** True if the nonce is unused in a block that has the obstacle. */
      readonly isNonceFree: boolean;
    }
  | { readonly kind: "unread"; readonly error: unknown };

const WAITS = "it waits in the node's pool";
/** A re-org may move a transaction while the blocks are searched. */
const COMPLETE_SEARCHES = 2;
/** Each costs a request for the whole block. */
const MOST_BLOCKS = 64;

export class Lookout {
  /** Times in a row that the user of the nonce was searched for in vain. */
  #searches = 0;

  constructor(private readonly sought: Sought) {}

  /** Looks once, by hash, then by nonce. Never throws: what fails is part of what is seen. */
  public async look(transactions: SentTransactions): Promise<Seen> {
    const { rpc, confirmations } = this.sought;
    const [{ from, nonce }] = transactions;
    try {
      const head = confirmations > 1 ? await getBlockNumber(rpc) : 0;
      const known = await this.#findByHash(transactions, head);
      if (known !== undefined) {
        return known;
      }
      // A wallet that raises the fees changes the hash, but not the nonce.
      if ((await getNonce(rpc, from, "latest")) > nonce) {
        return await this.#findByNonce(transactions);
      }
      if ((await getNonce(rpc, from, "pending")) > nonce) {
        const text = "a transaction with its nonce waits in the node's pool";
        return { kind: "pending", text };
      }
      const round: RoundSeen =
        newestOf({ transactions }).kind === "cancellation"
          ? { kind: "open" }
          : await this.#readRoundAndNonce(from, nonce);
      const late =
        // Looked for after the round was read: what is not there did not settle it.
        round.kind === "closed"
          ? await this.#findByHash(transactions, head)
          : undefined;
      const text = "the node does not have it";
      return late ?? { kind: "absent", round, text };
    } catch (error) {
      return { kind: "unread", text: describeProblem(error) };
    }
  }

  /** Reads the round at the newest block. Never throws. */
  public async readRound(): Promise<RoundSeen> {
    try {
      const why = await this.sought.checkRound();
      return why === undefined
        ? { kind: "open" }
        : { kind: "closed", why, isNonceFree: false };
    } catch (error) {
      return { kind: "unread", error };
    }
  }

  async #readRoundAndNonce(from: string, nonce: number): Promise<RoundSeen> {
    const { checkRound, rpc } = this.sought;
    const round = await this.readRound();
    if (round.kind !== "closed") {
      return round;
    }
    try {
      const head = await getBlockNumber(rpc);
      // If its nonce is used at that block, this transaction may have settled the round:
      // the node may not find it by its hash yet.
      const isNonceFree =
        (await checkRound(head)) !== undefined &&
        (await getNonce(rpc, from, head)) <= nonce;
      return { ...round, isNonceFree };
    } catch (error) {
      return { kind: "unread", error };
    }
  }

  async #findByHash(
    transactions: SentTransactions,
    head: number,
  ): Promise<Seen | undefined> {
    const newestFirst = transactions.toReversed();
    for (const transaction of newestFirst) {
      const mined = await this.#findMined(transaction.hash, transaction, head);
      if (mined !== undefined) {
        return mined;
      }
    }
    for (const { hash } of newestFirst) {
      if (
        hash !== undefined &&
        (await getTransaction(this.sought.rpc, hash)) !== undefined
      ) {
        return { kind: "pending", hash, text: WAITS };
      }
    }
    return undefined;
  }

  async #findMined(
    hash: Hex | undefined,
    transaction: SentTransaction,
    head: number,
  ): Promise<Seen | undefined> {
    const receipt =
      hash === undefined ? undefined : await getReceipt(this.sought.rpc, hash);
    if (hash === undefined || receipt === undefined) {
      return undefined;
    }
    const { blockNumber } = receipt;
    const depth = depthOf(blockNumber, head);
    const text = `it is in block ${blockNumber}, ${this.#confirmed(depth)}`;
    return { kind: "mined", hash, receipt, transaction, depth, text };
  }

  /** Searches the blocks since it was sent for the transaction that used the nonce. */
  async #findByNonce(transactions: SentTransactions): Promise<Seen> {
    const { rpc, confirmations, sentAfterBlock } = this.sought;
    const [{ from, nonce }] = transactions;
    const head = await getBlockNumber(rpc);
    const isUsedAt = async (block: number): Promise<boolean | undefined> =>
      await getNonce(rpc, from, block).then(
        (count) => count > nonce,
        // The node may have pruned that state.
        fallbackTo(undefined, isMissing),
      );
    let [unused, used, isPruned] = [sentAfterBlock, head, false];
    while (used - unused > 1) {
      const middle = Math.floor((unused + used) / 2);
      const isUsed = await isUsedAt(middle);
      isPruned ||= isUsed === undefined;
      [unused, used] = isUsed === true ? [unused, middle] : [middle, used];
    }
    const first = Math.max(sentAfterBlock + 1, used - MOST_BLOCKS + 1);
    for (let block = used; block >= first; block -= 1) {
      const user = (await getTransactions(rpc, block)).find(
        (one) => one.nonce === nonce && one.from === from.toLowerCase(),
      );
      if (user !== undefined) {
        this.#searches = 0;
        const { hash } = user;
        const ours = transactions.findLast((one) => isSameCall(one, user));
        if (ours !== undefined) {
          const mined = await this.#findMined(hash, ours, head);
          return mined ?? { kind: "pending", hash, text: WAITS };
        }
        const depth = depthOf(block, head);
        const text = `transaction ${hash} used its nonce, ${this.#confirmed(depth)}`;
        return { kind: "replaced", by: hash, depth, text };
      }
    }
    // Another node may have counted a newer block than those that were searched.
    const confirmed = head - confirmations + 1;
    const isConfirmed =
      confirmed > sentAfterBlock && (await isUsedAt(confirmed)) === true;
    this.#searches = isConfirmed ? this.#searches + 1 : 0;
    const depth = this.#searches >= COMPLETE_SEARCHES ? confirmations : 0;
    const text =
      "its nonce is used, and by which transaction could not be seen";
    return { kind: "replaced", isPruned, depth, text };
  }

  #confirmed(depth: number): string {
    return `with ${depth} of ${this.sought.confirmations} confirmations`;
  }
}

/** Counts the confirmations that a block has, itself included. */
function depthOf(block: number, head: number): number {
  return Math.max(1, head - block + 1);
}

function isMissing({ code }: VaultError): boolean {
  return code === "VAULT_RPC_ERROR" || code === "VAULT_ARCHIVE_NODE_NEEDED";
}

function isSameCall(
  { to, data }: SentTransaction,
  seen: SeenTransaction,
): boolean {
  return seen.to === to?.toLowerCase() && seen.data === data.toLowerCase();
}

import type { Chain, Receipt, SeenTransaction } from "../rpc/node.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { PreparedTransaction } from "./transaction.js";

/** What the chain shows of a transaction. */
export type FoundTransaction =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  /** In the node's pool. */
  | { readonly kind: "pending"; readonly hash: string | undefined }
  /** Its nonce went to another transaction: it can never be mined. */
  | { readonly kind: "replaced"; readonly by: string | undefined }
  /** The node does not have it, and its nonce is free. */
  | { readonly kind: "not-found" };

export interface SentTransaction extends PreparedTransaction {
  /** A block that cannot hold it, because it was not sent yet. */
  readonly sentAfterBlock: number;
}

/**
 * Looks for a transaction: by its hash where that is known, else by account
 * and nonce, which only one mined transaction can have.
 */
export async function findTransaction(
  chain: Chain,
  sent: SentTransaction,
  search: NonceSearch,
): Promise<FoundTransaction> {
  const { hash, from, nonce, raw } = sent;
  const byHash = hash === undefined ? undefined : await findByHash(chain, hash);
  if (byHash !== undefined) {
    return byHash;
  }
  if ((await chain.nonce(from, "latest")) <= nonce) {
    return raw === undefined
      ? await findInPool(chain, sent)
      : { kind: "not-found" };
  }
  const winner = await findByNonce(chain, sent, search);
  // Raised fees in a wallet make another hash of the same settlement; and
  // a transaction mined since the first look is found here.
  if (winner !== undefined && isSameSettlement(winner, sent)) {
    const receipt = await chain.receipt(winner.hash);
    return receipt === undefined
      ? { kind: "pending", hash: winner.hash }
      : { kind: "mined", hash: winner.hash, receipt };
  }
  return { kind: "replaced", by: winner?.hash };
}

async function findByHash(
  chain: Chain,
  hash: string,
): Promise<FoundTransaction | undefined> {
  const receipt = await chain.receipt(hash);
  if (receipt !== undefined) {
    return { kind: "mined", hash, receipt };
  }
  return (await chain.transaction(hash)) === undefined
    ? undefined
    : { kind: "pending", hash };
}

async function findInPool(
  chain: Chain,
  sent: SentTransaction,
): Promise<FoundTransaction> {
  if ((await chain.nonce(sent.from, "pending")) <= sent.nonce) {
    return { kind: "not-found" };
  }
  const found = (await chain.transactionsOf("pending")).find((transaction) =>
    isSameSettlement(transaction, sent),
  );
  return { kind: "pending", hash: found?.hash };
}

/**
 * Finds the mined transaction that used the nonce.
 *
 * @returns Undefined if it was not found, or not yet.
 */
async function findByNonce(
  chain: Chain,
  sent: SentTransaction,
  search: NonceSearch,
): Promise<SeenTransaction | undefined> {
  const head = await chain.blockNumber();
  try {
    return await inBlock(chain, sent, await bisect(chain, sent, head));
  } catch (error) {
    if (isNodeRefusal(error)) {
      // Only an archive node knows the count of an account at an old block.
      return await search.step(chain, sent, head);
    }
    throw error;
  }
}

/** Halves the range of blocks: an account's count only ever rises. */
async function bisect(
  chain: Chain,
  { from, nonce, sentAfterBlock }: SentTransaction,
  head: number,
): Promise<number> {
  let before = sentAfterBlock;
  let after = head;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if ((await chain.nonce(from, middle)) > nonce) {
      after = middle;
    } else {
      before = middle;
    }
  }
  return after;
}

async function inBlock(
  chain: Chain,
  { from, nonce }: SentTransaction,
  block: number,
): Promise<SeenTransaction | undefined> {
  return (await chain.transactionsOf(block)).find(
    (transaction) =>
      transaction.nonce === nonce && transaction.from === from.toLowerCase(),
  );
}

/** So many blocks are looked through at a time: each is one whole body. */
const BLOCKS_AT_A_TIME = 64;

/**
 * Looks for the transaction that used the nonce in the blocks themselves, which
 * every node has, from the first that can hold it: some at a time, each time
 * from where the last one ended.
 */
export class NonceSearch {
  #next = 0;

  public async step(
    chain: Chain,
    sent: SentTransaction,
    head: number,
  ): Promise<SeenTransaction | undefined> {
    const first = Math.max(this.#next, sent.sentAfterBlock + 1);
    const last = Math.min(first + BLOCKS_AT_A_TIME - 1, head);
    for (let block = first; block <= last; block += 1) {
      const found = await inBlock(chain, sent, block);
      if (found !== undefined) {
        return found;
      }
    }
    // From the start again after the newest: a re-org may have moved it.
    this.#next = last < head ? last + 1 : 0;
    return undefined;
  }
}

function isSameSettlement(
  seen: SeenTransaction,
  sent: SentTransaction,
): boolean {
  return (
    seen.from === sent.from.toLowerCase() &&
    seen.nonce === sent.nonce &&
    seen.to === sent.to.toLowerCase() &&
    seen.data === sent.data.toLowerCase()
  );
}

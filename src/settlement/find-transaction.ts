import type { RpcClient, Receipt, SeenTransaction } from "../rpc/node.js";
import type { PreparedTransaction } from "./transaction.js";

/** What the chain shows of a transaction. */
export type FoundTransaction =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  /** In the node's pool; without a hash if only its nonce is taken there. */
  | { readonly kind: "pending"; readonly hash: string | undefined }
  /** Its nonce went to another transaction: undefined if that is not found yet. */
  | { readonly kind: "replaced"; readonly by: NonceUser | undefined }
  /** The node does not have it, and its nonce is free. */
  | { readonly kind: "not-found" };

export interface SentTransaction extends PreparedTransaction {
  /** A block that cannot hold it, because it was not sent yet. */
  readonly sentAfterBlock: number;
}

/** The mined transaction that used a nonce. */
export interface NonceUser {
  readonly transaction: SeenTransaction;
  readonly block: number;
}

/**
 * Looks for a transaction: by its hash if that is known, else by account and
 * nonce, which only one mined transaction can have.
 */
export async function findTransaction(
  rpc: RpcClient,
  sent: SentTransaction,
  search: NonceSearch,
): Promise<FoundTransaction> {
  const { hash, from, nonce } = sent;
  const byHash = hash === undefined ? undefined : await findByHash(rpc, hash);
  if (byHash !== undefined) {
    return byHash;
  }
  if ((await rpc.nonce(from, "latest")) <= nonce) {
    return (await rpc.nonce(from, "pending")) <= nonce
      ? { kind: "not-found" }
      : {
          kind: "pending",
          hash: hash === undefined ? await findInPool(rpc, sent) : undefined,
        };
  }
  const winner = await search.step(rpc, sent);
  // Raised fees in a wallet make another hash of the same settlement; and
  // a transaction mined since the first look is found here.
  if (winner !== undefined && isSameSettlement(winner.transaction, sent)) {
    return await minedOrPending(rpc, winner.transaction.hash);
  }
  return { kind: "replaced", by: winner };
}

async function findByHash(
  rpc: RpcClient,
  hash: string,
): Promise<FoundTransaction | undefined> {
  const found = await minedOrPending(rpc, hash);
  return found.kind === "mined" || (await rpc.transaction(hash)) !== undefined
    ? found
    : undefined;
}

async function minedOrPending(
  rpc: RpcClient,
  hash: string,
): Promise<FoundTransaction> {
  const receipt = await rpc.receipt(hash);
  return receipt === undefined
    ? { kind: "pending", hash }
    : { kind: "mined", hash, receipt };
}

async function findInPool(
  rpc: RpcClient,
  sent: SentTransaction,
): Promise<string | undefined> {
  const pool = await rpc.transactionsOf("pending");
  return pool.find((transaction) => isSameSettlement(transaction, sent))?.hash;
}

/** Each is one whole body. */
const BLOCKS_AT_A_TIME = 64;

/**
 * Looks for the transaction that used the nonce in the blocks themselves, which
 * every node has, from the first that can hold it: some at a time, each time
 * from where the last one ended.
 */
export class NonceSearch {
  #next = 0;

  /** @returns Undefined if it was not found, or not yet. */
  public async step(
    rpc: RpcClient,
    { from, nonce, sentAfterBlock }: SentTransaction,
  ): Promise<NonceUser | undefined> {
    const head = await rpc.blockNumber();
    const first = Math.max(this.#next, sentAfterBlock + 1);
    const last = Math.min(first + BLOCKS_AT_A_TIME - 1, head);
    for (let block = first; block <= last; block += 1) {
      const transaction = (await rpc.transactionsOf(block)).find(
        (seen) => seen.nonce === nonce && seen.from === from.toLowerCase(),
      );
      if (transaction !== undefined) {
        this.#next = block;
        return { transaction, block };
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

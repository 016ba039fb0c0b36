import type { RpcClient, Receipt, SeenTransaction } from "../rpc/rpc-client.js";
import type { PreparedTransaction } from "./transaction.js";

type FoundTransaction =
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

/** The block in which to go on looking for what used the nonce. */
export interface Scan {
  next: number;
}

/** Each is one whole body. */
const BLOCKS_AT_A_TIME = 64;

/**
 * Looks for a transaction: by its hash if that is known, else by account and
 * nonce, which only one mined transaction can have.
 */
export async function findTransaction(
  rpc: RpcClient,
  sent: SentTransaction,
  scan: Scan,
): Promise<FoundTransaction> {
  const { hash, from, nonce } = sent;
  if (hash !== undefined) {
    const found = await minedOrPending(rpc, hash);
    if (found.kind === "mined" || (await rpc.transaction(hash)) !== undefined) {
      return found;
    }
  }
  if ((await rpc.nonce(from, "latest")) <= nonce) {
    if ((await rpc.nonce(from, "pending")) <= nonce) {
      return { kind: "not-found" };
    }
    const pool = hash === undefined ? await rpc.transactionsOf("pending") : [];
    const ours = pool.find((seen) => isSameSettlement(seen, sent));
    return { kind: "pending", hash: ours?.hash };
  }
  const winner = await findNonceUser(rpc, sent, scan);
  // Raised fees in a wallet make another hash of the same settlement; and
  // a transaction mined since the first look is found here.
  if (winner !== undefined && isSameSettlement(winner.transaction, sent)) {
    return await minedOrPending(rpc, winner.transaction.hash);
  }
  return { kind: "replaced", by: winner };
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

/**
 * Looks in the blocks themselves, which every node has: some at a time.
 *
 * @returns Undefined if it was not found, or not yet.
 */
async function findNonceUser(
  rpc: RpcClient,
  { from, nonce, sentAfterBlock }: SentTransaction,
  scan: Scan,
): Promise<NonceUser | undefined> {
  const head = await rpc.blockNumber();
  const first = Math.max(scan.next, sentAfterBlock + 1);
  const last = Math.min(first + BLOCKS_AT_A_TIME - 1, head);
  for (let block = first; block <= last; block += 1) {
    const transaction = (await rpc.transactionsOf(block)).find(
      (seen) => seen.nonce === nonce && seen.from === from.toLowerCase(),
    );
    if (transaction !== undefined) {
      scan.next = block;
      return { transaction, block };
    }
  }
  // From the start again after the newest: a re-org may have moved it.
  scan.next = last < head ? last + 1 : 0;
  return undefined;
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

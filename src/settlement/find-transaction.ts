import type { RpcClient, Receipt, SeenTransaction } from "../rpc/rpc-client.js";
import type { PreparedTransaction } from "./transaction.js";

type FoundTransaction =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  /** In the node's pool; the hash is undefined if only the nonce is used there. */
  | { readonly kind: "pending"; readonly hash: string | undefined }
  /** Another transaction used its nonce; undefined if it is not found yet. */
  | { readonly kind: "replaced"; readonly by: NonceUser | undefined }
  /** The node does not have it, and its nonce is free. */
  | { readonly kind: "not-found" };

export interface SentTransaction extends PreparedTransaction {
  /** Latest block before it was sent. */
  readonly sentAfterBlock: number;
}

/** Mined transaction that used a nonce. */
export interface NonceUser {
  readonly transaction: SeenTransaction;
  readonly block: number;
}

/** Next block to search for the transaction that used the nonce. */
export interface Scan {
  next: number;
}

/** Each costs a request for the whole block. */
const BLOCKS_AT_A_TIME = 64;

/** Finds a transaction by hash, else by account and nonce, which are used only once. */
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
  // A wallet that raises the fees changes the hash. A transaction that was mined after
  // the first check is found here, too.
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

/** Searches the next blocks, which every node has. */
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
  // After the newest block, start again: a re-org may have moved the transaction.
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

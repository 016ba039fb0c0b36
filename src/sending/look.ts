// What one look at the chain shows of transactions that were sent, and of the round.

import { VaultError, fallbackTo } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import { getBlockNumber } from "../rpc/blocks.js";
import { getNonce } from "../rpc/chain.js";
import { isNodeError } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../rpc/transactions.js";
import type { Job, Mined, Stopped } from "./job.js";
import { describeProblem, newestOf } from "./transaction.js";
import type { SentTransaction, SentTransactions } from "./transaction.js";

/** What one look at the chain shows of transactions that share a nonce; `text` is a clause. */
export type Seen = { readonly text: string } & (
  | (Mined & { readonly depth: number })
  /** In the node's pool; without a hash if only the nonce is used there. */
  | { readonly kind: "pending"; readonly hash?: Hex }
  /** Another transaction used their nonce. Its depth is 0 while its block is not found. */
  | { readonly kind: "replaced"; readonly depth: number }
  /** The node has none of them, and their nonce is free. */
  | {
      readonly kind: "absent";
      /** Default: the round is to be settled. */
      readonly round?: Stopped | VaultError;
      /** True if a node that is behind shows the round as it was before they were sent. */
      readonly isOld?: boolean;
    }
  /** Nothing is known by this look. */
  | { readonly kind: "unread" }
);

/** What a look needs of a job. */
type Search = Pick<
  Job,
  "rpc" | "checkRound" | "confirmations" | "sentAfterBlock"
>;

/** Looks once, by hash, then by nonce. Never throws: what fails is part of what is seen. */
export async function look(
  search: Search,
  transactions: SentTransactions,
): Promise<Seen> {
  const { rpc, confirmations } = search;
  const [{ from, nonce }] = transactions;
  try {
    const head = confirmations > 1 ? await getBlockNumber(rpc) : 0;
    const found = await findByHash(rpc, transactions, head);
    if (found !== undefined) {
      return found;
    }
    // A wallet that raises the fees changes the hash, but not the nonce.
    if ((await getNonce(rpc, from, "latest")) > nonce) {
      return await findByNonce(search, transactions);
    }
    if ((await getNonce(rpc, from, "pending")) > nonce) {
      const text = "a transaction with its nonce waits in the node's pool";
      return { kind: "pending", text };
    }
    return await lookAtRound(search, transactions, head);
  } catch (error) {
    return { kind: "unread", text: describeProblem(error) };
  }
}

/** Of transactions that the node does not have. A cancellation needs no round. */
async function lookAtRound(
  { rpc, checkRound, sentAfterBlock }: Search,
  transactions: SentTransactions,
  head: number,
): Promise<Seen> {
  const { kind, from, nonce } = newestOf({ transactions });
  const absent = { kind: "absent", text: "the node does not have it" } as const;
  try {
    const round = kind === "settlement" ? await checkRound() : undefined;
    if (round === undefined) {
      return absent;
    }
    // If its nonce is used at that block, this transaction may have settled the round: the
    // node may not find it by its hash yet.
    const newest = await getBlockNumber(rpc);
    const obstacle = await checkRound(newest);
    const isFree =
      obstacle !== undefined && (await getNonce(rpc, from, newest)) <= nonce;
    // Looked for after the round was read: what is not there did not settle it.
    const late = await findByHash(rpc, transactions, head);
    const text = `${absent.text}, though it may be what settled the round`;
    if (!isFree) {
      return late ?? { kind: "unread", text };
    }
    const isOld = newest < sentAfterBlock || obstacle.isEarly === true;
    return late ?? { ...absent, round: obstacle, isOld };
  } catch (error) {
    if (!VaultError.isVaultError(error)) {
      throw error;
    }
    const text = `${absent.text}, and the round could not be read: ${describeProblem(error)}`;
    return { ...absent, text, round: error };
  }
}

async function findByHash(
  rpc: RpcClient,
  transactions: SentTransactions,
  head: number,
): Promise<Seen | undefined> {
  const newestFirst = transactions.toReversed();
  for (const transaction of newestFirst) {
    const mined = await findMined(rpc, transaction.hash, transaction, head);
    if (mined !== undefined) {
      return mined;
    }
  }
  for (const { hash } of newestFirst) {
    if (hash !== undefined && (await getTransaction(rpc, hash)) !== undefined) {
      return waiting(hash);
    }
  }
  return undefined;
}

function waiting(hash: Hex): Seen {
  return { kind: "pending", hash, text: "it waits in the node's pool" };
}

async function findMined(
  rpc: RpcClient,
  hash: Hex | undefined,
  transaction: SentTransaction,
  head: number,
): Promise<Seen | undefined> {
  const receipt = hash === undefined ? undefined : await getReceipt(rpc, hash);
  if (hash === undefined || receipt === undefined) {
    return undefined;
  }
  const { blockNumber } = receipt;
  const depth = depthOf(blockNumber, head);
  const text = `confirmations of its block ${blockNumber}: ${depth}`;
  return { kind: "mined", hash, receipt, transaction, depth, text };
}

/** Counts the confirmations that a block has, itself included. */
function depthOf(block: number, head: number): number {
  return Math.max(1, head - block + 1);
}

/** Each costs a request for the whole block. */
const MOST_BLOCKS = 64;

/** Searches the blocks since it was sent for the transaction that used the nonce. */
async function findByNonce(
  { rpc, confirmations, sentAfterBlock }: Search,
  transactions: SentTransactions,
): Promise<Seen> {
  const [{ from, nonce }] = transactions;
  const head = await getBlockNumber(rpc);
  const isUsedAt = async (block: number): Promise<boolean> =>
    await getNonce(rpc, from, block).then(
      (count) => count > nonce,
      // The node may have pruned that state.
      fallbackTo(false, isNodeError),
    );
  let [unused, used] = [sentAfterBlock, head];
  while (used - unused > 1) {
    const middle = Math.floor((unused + used) / 2);
    if (await isUsedAt(middle)) {
      used = middle;
    } else {
      unused = middle;
    }
  }
  // Also before that block: a node that is behind, or has pruned the state, misleads.
  const first = Math.max(sentAfterBlock + 1, used - MOST_BLOCKS + 1);
  for (let block = used; block >= first; block -= 1) {
    const user = (await getTransactions(rpc, block)).find(
      (one) => one.nonce === nonce && one.from === from.toLowerCase(),
    );
    if (user !== undefined) {
      const { hash, to, data } = user;
      const ours = transactions.findLast(
        (one) =>
          one.to?.toLowerCase() === to && one.data.toLowerCase() === data,
      );
      const text = `transaction ${hash} of ${from} used its nonce ${nonce}`;
      return ours === undefined
        ? { kind: "replaced", depth: depthOf(block, head), text }
        : ((await findMined(rpc, hash, ours, head)) ?? waiting(hash));
    }
  }
  // What used it is not found. A node that is behind misleads the search: only the state of
  // a block that is deep enough shows that it is used for good.
  const confirmed = head - confirmations + 1;
  const isOver = confirmed > sentAfterBlock && (await isUsedAt(confirmed));
  const text = `nonce ${nonce} of ${from} is used, and no block that the node shows has the transaction (it may have pruned the state, and an EIP-7702 authorization uses a nonce, too)`;
  return { kind: "replaced", depth: isOver ? confirmations : 0, text };
}

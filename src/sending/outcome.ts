// How a settlement ends, and what one look at the chain shows of its transactions.

import { fallbackTo } from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import { getNonce } from "../rpc/accounts.js";
import { getBlockNumber } from "../rpc/blocks.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { describeProblem, newestOf } from "./transaction.js";
import type { SentTransaction, SentTransactions } from "./transaction.js";

/** Nothing was sent. */
export interface Stopped {
  readonly kind: "stopped";
  readonly status: "nothing-to-do" | "refused" | "reverted";
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
  /** True if the round has not ended yet: the obstacle goes away with time. */
  readonly isEarly?: boolean;
  /** Error with `reason` as its message. */
  readonly error?: VaultError;
}

export function refusedBy(error: VaultError): Stopped {
  const { code, message: reason } = error;
  return { kind: "stopped", status: "refused", code, reason, error };
}

export function nothingToDo(reason: string): Stopped {
  return { kind: "stopped", status: "nothing-to-do", reason };
}

export interface Mined {
  readonly kind: "mined";
  readonly hash: Hex;
  readonly receipt: Receipt;
  /** The one of the transactions that was mined. */
  readonly transaction: SentTransaction;
}

/** How it ended: before anything was sent, or with its transactions. */
export type Outcome =
  | Stopped
  | Mined
  | {
      /** `undecided`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "undecided";
      readonly status: Stopped["status"] | "unconfirmed";
      readonly code?: VaultErrorCode | undefined;
      readonly reason: string;
      readonly hash: Hex | undefined;
      readonly receipt?: Receipt | undefined;
    };

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

/** What one look at the chain shows of transactions that share a nonce. */
export type Seen = Looked & {
  /** A clause. */
  readonly text: string;
};

type Looked =
  | (Mined & { readonly depth: number })
  /** In the node's pool; without a hash if only the nonce is used there. */
  | { readonly kind: "pending"; readonly hash?: Hex }
  /** Another transaction used their nonce. Its depth is 0 while its block is not found. */
  | { readonly kind: "replaced"; readonly depth: number }
  /** The node has none of them, and their nonce is free. */
  | {
      readonly kind: "absent";
      /** The round is settled, another one is the latest, or it has not ended yet. */
      readonly obstacle?: Stopped;
      /** Why the round could not be read. */
      readonly error?: unknown;
    }
  /** Nothing is known by this look. */
  | { readonly kind: "unread" };

/** Each costs a request for the whole block. */
const MOST_BLOCKS = 64;

/**
 * Looks once, by hash, then by nonce. Never throws: what fails is part of what is seen.
 *
 * @param was What the look before showed.
 */
export async function look(
  sought: Sought,
  transactions: SentTransactions,
  was: Seen | undefined,
): Promise<Seen> {
  const { rpc, confirmations } = sought;
  const [{ from, nonce }] = transactions;
  try {
    const head = confirmations > 1 ? await getBlockNumber(rpc) : 0;
    const found = await findByHash(rpc, transactions, head);
    if (found !== undefined) {
      return found;
    }
    // A wallet that raises the fees changes the hash, but not the nonce.
    if ((await getNonce(rpc, from, "latest")) > nonce) {
      return await findByNonce(sought, transactions, was);
    }
    if ((await getNonce(rpc, from, "pending")) > nonce) {
      const text = "a transaction with its nonce waits in the node's pool";
      return { kind: "pending", text };
    }
    return await lookAtRound(sought, transactions, head);
  } catch (error) {
    return { kind: "unread", text: describeProblem(error) };
  }
}

const ABSENT = "the node does not have it";

/** Of transactions that the node does not have. A cancellation needs no round. */
async function lookAtRound(
  { rpc, checkRound }: Sought,
  transactions: SentTransactions,
  head: number,
): Promise<Seen> {
  const { kind, from, nonce } = newestOf({ transactions });
  let obstacle: Stopped | undefined;
  let isSure: boolean;
  try {
    obstacle = kind === "cancellation" ? undefined : await checkRound();
    if (obstacle === undefined) {
      return { kind: "absent", text: ABSENT };
    }
    const newest = await getBlockNumber(rpc);
    // If its nonce is used at that block, this transaction may have settled the round: the
    // node may not find it by its hash yet.
    isSure =
      (await checkRound(newest)) !== undefined &&
      (await getNonce(rpc, from, newest)) <= nonce;
  } catch (error) {
    const text = `${ABSENT}, and it could not be sent again: ${describeProblem(error)}`;
    return { kind: "absent", error, text };
  }
  // Looked for after the round was read: what is not there did not settle it.
  const late = await findByHash(rpc, transactions, head);
  const seen: Seen = isSure
    ? {
        kind: "absent",
        obstacle,
        text: `${ABSENT}, and it is not sent again: ${obstacle.reason}`,
      }
    : {
        kind: "unread",
        text: `${ABSENT}, though it may be what settled the round`,
      };
  return late ?? seen;
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
  const text = `it is in block ${blockNumber}`;
  return { kind: "mined", hash, receipt, transaction, depth, text };
}

/** Counts the confirmations that a block has, itself included. */
function depthOf(block: number, head: number): number {
  return Math.max(1, head - block + 1);
}

/** Searches the blocks since it was sent for the transaction that used the nonce. */
async function findByNonce(
  { rpc, confirmations, sentAfterBlock }: Sought,
  transactions: SentTransactions,
  was: Seen | undefined,
): Promise<Seen> {
  const [{ from, nonce }] = transactions;
  const head = await getBlockNumber(rpc);
  const isUsedAt = async (block: number): Promise<boolean> =>
    await getNonce(rpc, from, block).then(
      (count) => count > nonce,
      // The node may have pruned that state.
      fallbackTo(
        false,
        ({ code }) =>
          code === "VAULT_RPC_ERROR" || code === "VAULT_ARCHIVE_NODE_NEEDED",
      ),
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
  // A re-org may have moved it while the blocks were searched, and another node may have
  // counted a newer block: only a second search in vain counts.
  const confirmed = head - confirmations + 1;
  const isOver =
    was?.kind === "replaced" &&
    was.depth === 0 &&
    confirmed > sentAfterBlock &&
    (await isUsedAt(confirmed));
  const text = `nonce ${nonce} of ${from} is used, and no block that the node shows has the transaction (it may have pruned the state, and an EIP-7702 authorization uses a nonce, too)`;
  return { kind: "replaced", depth: isOver ? confirmations : 0, text };
}

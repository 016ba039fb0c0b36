import { VaultError, fallbackTo } from "../errors.js";
import { getNonce } from "../rpc/accounts.js";
import { getBlockNumber } from "../rpc/blocks.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  getReceipt,
  getTransaction,
  getTransactions,
} from "../rpc/transactions.js";
import type { SeenTransaction } from "../rpc/transactions.js";
import type { CheckRound } from "./check-round.js";
import { describeProblem } from "./send.js";
import type {
  FoundTransaction,
  Look,
  NonceUser,
  RoundSighting,
  Scan,
} from "./sighting.js";
import type { Plan, State } from "./state.js";
import { newestOf } from "./transaction.js";
import type { SentTransaction } from "./transaction.js";

type SentWithNonce = Pick<Plan, "confirmations" | "sentAfterBlock"> &
  Pick<State, "transactions">;

/** Result of a search, and the state that the next one continues from. */
export interface SearchResult {
  readonly transaction: FoundTransaction;
  readonly scan: Scan;
}

/** Each costs a request for the whole block. */
const BLOCKS_AT_A_TIME = 64;
/** A re-org may move a transaction while the blocks are searched. */
const COMPLETE_SCANS = 2;

/** Looks at the chain once. Never throws: what fails is part of what is seen. */
export async function look(
  rpc: RpcClient,
  sent: SentWithNonce,
  scan: Scan | undefined,
  checkRound: CheckRound,
): Promise<Omit<Look, "isOver" | "kind">> {
  try {
    const head = sent.confirmations > 1 ? await getBlockNumber(rpc) : undefined;
    const found = await findTransaction(rpc, sent, scan);
    if (
      found.transaction.kind !== "unknown" ||
      newestOf(sent).kind === "cancellation"
    ) {
      return { ...found, head };
    }
    const round = await lookAtRound(rpc, sent, checkRound);
    return {
      // Searched after the round was read: a transaction that is not there did not
      // settle it.
      ...(round.kind === "closed"
        ? await findTransaction(rpc, sent, found.scan)
        : found),
      ...{ head, round },
    };
  } catch (error) {
    const problem = describeProblem(error);
    return { transaction: { kind: "unread", problem } };
  }
}

async function lookAtRound(
  rpc: RpcClient,
  { transactions: [{ from, nonce }] }: SentWithNonce,
  checkRound: CheckRound,
): Promise<RoundSighting> {
  const round = await readRound(checkRound);
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
    return { kind: "unread", problem: describeProblem(error) };
  }
}

/** Reads the round at the newest block. Never throws. */
export async function readRound(
  checkRound: CheckRound,
): Promise<RoundSighting> {
  try {
    const obstacle = await checkRound();
    return obstacle === undefined
      ? { kind: "open" }
      : { kind: "closed", obstacle, isNonceFree: false };
  } catch (error) {
    return {
      kind: "unread",
      problem: describeProblem(error),
      error: VaultError.isVaultError(error) ? error : undefined,
    };
  }
}

/** Finds a transaction by hash, else by account and nonce, which are used only once. */
export async function findTransaction(
  rpc: RpcClient,
  sent: SentWithNonce,
  scan: Scan = { next: 0, complete: 0 },
): Promise<SearchResult> {
  const newestFirst = [...sent.transactions].reverse();
  for (const transaction of newestFirst) {
    const { hash } = transaction;
    const receipt =
      hash === undefined ? undefined : await getReceipt(rpc, hash);
    if (hash !== undefined && receipt !== undefined) {
      const found = { kind: "mined", hash, receipt, transaction } as const;
      return { transaction: found, scan };
    }
  }
  for (const { hash } of newestFirst) {
    if (hash !== undefined && (await getTransaction(rpc, hash)) !== undefined) {
      return { transaction: { kind: "pending", hash }, scan };
    }
  }
  const [{ from, nonce, hash }] = sent.transactions;
  if ((await getNonce(rpc, from, "latest")) <= nonce) {
    if ((await getNonce(rpc, from, "pending")) <= nonce) {
      return { transaction: { kind: "unknown" }, scan };
    }
    const pool =
      hash === undefined ? await getTransactions(rpc, "pending") : [];
    const ours = pool.find((seen) => matchOf(seen, sent) !== undefined);
    return { transaction: { kind: "pending", hash: ours?.hash }, scan };
  }
  const { by, scan: next } = await findNonceUser(rpc, sent, scan);
  // A wallet that raises the fees changes the hash. A transaction that was mined after
  // the first check is found here, too.
  const transaction =
    typeof by === "string" ? undefined : matchOf(by.transaction, sent);
  if (typeof by === "string" || transaction === undefined) {
    return { transaction: { kind: "used", by }, scan: next };
  }
  const { hash: found } = by.transaction;
  const receipt = await getReceipt(rpc, found);
  return {
    transaction:
      receipt === undefined
        ? { kind: "pending", hash: found }
        : { kind: "mined", hash: found, receipt, transaction },
    scan: next,
  };
}

/** Searches the next blocks, which every node has. */
async function findNonceUser(
  rpc: RpcClient,
  {
    transactions: [{ from, nonce }],
    sentAfterBlock,
    confirmations,
  }: SentWithNonce,
  scan: Scan,
): Promise<{
  readonly by: NonceUser | "nothing" | "unseen";
  readonly scan: Scan;
}> {
  const head = await getBlockNumber(rpc);
  const first = Math.max(scan.next, sentAfterBlock + 1);
  const last = Math.min(first + BLOCKS_AT_A_TIME - 1, head);
  for (let block = first; block <= last; block += 1) {
    const transaction = (await getTransactions(rpc, block)).find(
      (seen) => seen.nonce === nonce && seen.from === from.toLowerCase(),
    );
    if (transaction !== undefined) {
      return { by: { transaction, block }, scan: { next: block, complete: 0 } };
    }
  }
  if (last < head) {
    return { by: "unseen", scan: { ...scan, next: last + 1 } };
  }
  // Another node may have counted a newer block than those that were searched.
  const confirmed = head - confirmations + 1;
  const used =
    confirmed > sentAfterBlock
      ? await getNonce(rpc, from, confirmed).catch(fallbackTo(0, isNodeRefusal))
      : 0;
  const complete = used > nonce ? scan.complete + 1 : 0;
  return {
    by: complete >= COMPLETE_SCANS ? "nothing" : "unseen",
    // It starts again: a re-org may have moved the transaction.
    scan: { next: 0, complete },
  };
}

/** Returns the newest of ours that makes the same call as a seen transaction. */
function matchOf(
  seen: SeenTransaction,
  { transactions }: SentWithNonce,
): SentTransaction | undefined {
  return transactions.findLast(
    ({ from, nonce, to, data }) =>
      seen.from === from.toLowerCase() &&
      seen.nonce === nonce &&
      seen.to === to.toLowerCase() &&
      seen.data === data.toLowerCase(),
  );
}

import { vaultError } from "../errors.js";
import type { RpcClient, Receipt } from "../rpc/rpc-client.js";
import type { Deadline } from "../rpc/deadline.js";
import { describeProblem, send } from "./send.js";
import { findTransaction } from "./find-transaction.js";
import { lateAnswer } from "./last-look.js";
import type { NonceUser, Scan, SentTransaction } from "./find-transaction.js";
import { refusedBy } from "./observe.js";
import type { SettlementEvent, Stop } from "./types.js";

/** Failed sends, or checks without a result, until a transaction counts as lost. */
const MAX_ATTEMPTS = 5;

export interface FollowOptions {
  readonly confirmations: number;
  readonly deadline: Deadline;
  readonly pollingIntervalMs: number;
  /** Time for a node to mine or queue an accepted transaction. */
  readonly firstCheckAfterMs: number;
  /**
   * @param block Default: the newest.
   * @returns The obstacle to sending again, or undefined.
   * @throws VaultError if the round cannot be read
   */
  readonly checkRound: (block?: number) => Promise<Stop | undefined>;
  /** False if the last check was too long ago to send. Default: true. */
  readonly isCheckRecent?: (() => boolean) | undefined;
  /** Called with each new hash. */
  readonly onHash: (hash: string) => Promise<void>;
  readonly emit: (event: SettlementEvent) => void;
}

export type FollowOutcome =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  | (Stop & {
      /** `open`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "open";
      readonly hash: string | undefined;
      readonly receipt?: Receipt | undefined;
    });

interface Followed extends FollowOptions {
  readonly rpc: RpcClient;
  transaction: SentTransaction;
  /** False if an earlier process may have sent it. */
  readonly isFresh: boolean;
  hasSent: boolean;
  /** True once the node has answered a send, with a hash or an error. */
  wasAnswered: boolean;
  /** Errors of the latest sends in a row. */
  errors: readonly string[];
  /** Checks in a row, since the last send, that did not find it. */
  unseen: number;
  wasSeen: boolean;
  receipt: Receipt | undefined;
  /** Confirmations reported so far. */
  confirmed: number;
  readonly scan: Scan;
  sendProblem: string;
  /** Description of the last known state. */
  last: string;
}

/**
 * Follows a transaction until it is confirmed, can never be mined, or the time is over.
 * Sends it again if the node lost it. Never throws.
 *
 * @param start `send` if the round was checked just now, else `find`.
 */
export async function followTransaction(
  rpc: RpcClient,
  transaction: SentTransaction,
  start: "send" | "find",
  options: FollowOptions,
): Promise<FollowOutcome> {
  const { deadline, pollingIntervalMs, firstCheckAfterMs } = options;
  const followed: Followed = {
    ...options,
    rpc,
    transaction,
    isFresh: start === "send",
    hasSent: false,
    wasAnswered: false,
    errors: [],
    unseen: 0,
    wasSeen: false,
    receipt: undefined,
    confirmed: 0,
    scan: { next: 0 },
    sendProblem: "",
    last: "nothing was seen of it yet",
  };
  let next: "send" | "find" | "check" = start;
  for (;;) {
    const step = next;
    // After any failure, search for it first: never send blindly.
    next = "find";
    try {
      // Without an answer in time, the round is not known, and nothing is sent.
      const checked =
        step === "check" ? await deadline.within(check(followed)) : step;
      if (checked === "send" && (step === "send" || !deadline.isOver)) {
        await sendOnce(followed);
        await deadline.pause(firstCheckAfterMs);
      }
      const seen = await findOnce(followed);
      if (typeof seen === "object") {
        return seen;
      }
      if (seen === "not-found") {
        // Searched after the check: the transaction that seemed lost did not
        // settle the round.
        if (typeof checked === "object") {
          return checked;
        }
        next = "check";
      }
    } catch (error) {
      followed.last = describeProblem(error);
      if (step === "check") {
        followed.sendProblem = `, and it could not be sent again: ${followed.last}`;
      }
      warn(followed, followed.last);
    }
    if (deadline.isOver) {
      return timedOut(followed);
    }
    await deadline.pause(pollingIntervalMs);
  }
}

async function sendOnce(followed: Followed): Promise<void> {
  const { rpc, transaction, deadline, emit } = followed;
  if (followed.isCheckRecent?.() === false) {
    // The process was suspended since: check again.
    throw lateAnswer(rpc.network);
  }
  if (!followed.hasSent) {
    const { hash = null, nonce } = transaction;
    emit({ type: "sending", hash, nonce });
  }
  followed.hasSent = true;
  followed.unseen = 0;
  const late = { kind: "lost", problem: "no answer in time" } as const;
  const answer = (await deadline.within(send(rpc, transaction))) ?? late;
  followed.wasAnswered ||= answer.kind !== "lost";
  if (answer.kind === "accepted") {
    followed.errors = [];
    followed.sendProblem = "";
    await learnHash(followed, answer.hash);
    return;
  }
  const { problem } = answer;
  const isError = answer.kind === "error";
  followed.errors = isError ? [...followed.errors, problem] : [];
  followed.sendProblem = `, and sending it failed: ${problem}`;
  warn(
    followed,
    isError
      ? `the node answered the transaction with an error (${problem}); looking for it`
      : `the answer to sending was lost (${problem}); looking for the transaction`,
  );
}

/**
 * @returns `send`, or the outcome if the next search does not find the transaction;
 * undefined if it is not known yet.
 */
async function check(
  followed: Followed,
): Promise<"send" | FollowOutcome | undefined> {
  const obstacle = await followed.checkRound();
  if (obstacle === undefined) {
    return maySendAgain(followed) ? "send" : givenUp(followed);
  }
  const { rpc, transaction, hasSent } = followed;
  const { hash, from, nonce } = transaction;
  const head = await rpc.blockNumber();
  // If its nonce is used at that block, this transaction may have settled the round:
  // the node may not find it by its hash yet.
  if (
    (await followed.checkRound(head)) === undefined ||
    (await rpc.nonce(from, head)) > nonce
  ) {
    followed.sendProblem = ", though it may be what settled the round";
    return undefined;
  }
  const reason = `${obstacle.reason} The node does not have the transaction that was sent before, and it is not sent again.`;
  // A transaction sent by this process may still arrive.
  if (hasSent) {
    return { kind: "open", hash, status: "unconfirmed", reason };
  }
  const place = `Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`;
  return { ...obstacle, kind: "dropped", hash, reason: `${reason} ${place}` };
}

/**
 * Signed bytes may be sent repeatedly. Without them, a person may have to approve each
 * send: only the first process sends again, and only if the node never answered. Some
 * nodes do not show a transaction that waits for its approval.
 */
function maySendAgain(followed: Followed): boolean {
  return followed.transaction.raw === undefined
    ? followed.isFresh && !followed.wasAnswered
    : followed.errors.length < MAX_ATTEMPTS;
}

function givenUp({
  transaction: { hash, from, nonce },
  errors,
  unseen,
  hasSent,
}: Followed): FollowOutcome | undefined {
  const error = errors.at(-1);
  if (unseen < MAX_ATTEMPTS || (hasSent && error === undefined)) {
    return undefined;
  }
  const why: Stop =
    error === undefined
      ? refusedBy(vaultError("VAULT_SETTLEMENT_LOST", { from, nonce }))
      : {
          status: "refused",
          code: "VAULT_RPC_ERROR",
          reason: `The node does not have the transaction, and answered it with an error: ${error}`,
        };
  return { ...why, kind: "dropped", hash };
}

/** @returns The outcome, or `not-found`; undefined if it is still under way. */
async function findOnce(
  followed: Followed,
): Promise<FollowOutcome | "not-found" | undefined> {
  const { rpc, transaction, confirmations, deadline, scan, emit } = followed;
  const head =
    confirmations > 1 ? await deadline.within(rpc.blockNumber()) : undefined;
  const found = await deadline.within(findTransaction(rpc, transaction, scan));
  if (found === undefined) {
    return undefined;
  }
  const { receipt: known } = followed;
  if (
    known !== undefined &&
    (found.kind !== "mined" || found.receipt.blockHash !== known.blockHash)
  ) {
    const { blockNumber } = known;
    warn(followed, `a re-org took the transaction out of block ${blockNumber}`);
    followed.receipt = undefined;
    followed.confirmed = 0;
  }
  if (found.kind === "not-found") {
    followed.unseen += 1;
    followed.last = `the node does not have it${followed.sendProblem}`;
    if (followed.wasSeen) {
      warn(followed, "the node dropped the transaction");
      followed.wasSeen = false;
    }
    return "not-found";
  }
  followed.unseen = 0;
  followed.errors = [];
  if (found.kind === "replaced") {
    return replacedBy(followed, found.by, head);
  }
  followed.wasSeen = true;
  await learnHash(followed, found.hash);
  if (found.kind === "pending") {
    followed.last =
      found.hash === undefined
        ? "a transaction with its nonce waits in the node's pool"
        : "it waits in the node's pool";
    return undefined;
  }
  const { hash, receipt } = found;
  const { blockNumber } = receipt;
  if (followed.receipt === undefined) {
    followed.receipt = receipt;
    emit({ type: "mined", hash, blockNumber });
  }
  const depth = depthOf(blockNumber, head);
  const confirmed = Math.min(depth, confirmations);
  if (confirmations > 1 && confirmed > followed.confirmed) {
    const wanted = confirmations;
    emit({ type: "confirmed", hash, confirmations: confirmed, wanted });
  }
  followed.confirmed = confirmed;
  followed.last = `it is in block ${blockNumber}, with ${depth} of ${confirmations} confirmations`;
  return depth >= confirmations ? { kind: "mined", hash, receipt } : undefined;
}

function replacedBy(
  followed: Followed,
  by: NonceUser | undefined,
  head: number | undefined,
): FollowOutcome | undefined {
  const { confirmations, transaction } = followed;
  const { hash, nonce, from } = transaction;
  if (by === undefined) {
    // Nodes behind a load balancer differ: our own transaction may have used it.
    followed.last =
      "its nonce is used, and by which transaction could not be seen";
    return undefined;
  }
  const other = `transaction ${by.transaction.hash}`;
  const depth = depthOf(by.block, head);
  const reason = `It was replaced: ${other} of ${from} used its nonce ${nonce}, so it can never be mined.`;
  // A re-org may remove the other transaction.
  followed.last = `${other} used its nonce, with ${depth} of ${confirmations} confirmations`;
  return depth < confirmations
    ? undefined
    : { kind: "dropped", hash, status: "unconfirmed", reason };
}

function timedOut({
  transaction,
  receipt,
  last,
  isFresh,
  hasSent,
  rpc,
}: Followed): FollowOutcome {
  const { hash, from, nonce } = transaction;
  if (isFresh && !hasSent) {
    return {
      ...refusedBy(lateAnswer(rpc.network)),
      kind: "dropped",
      hash: undefined,
    };
  }
  const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
  const reason = `The time is over for ${what} of ${from} with nonce ${nonce}: ${last.replace(/\.$/u, "")}.`;
  return { kind: "open", hash, status: "unconfirmed", receipt, reason };
}

async function learnHash(
  followed: Followed,
  hash: string | undefined,
): Promise<void> {
  const { transaction } = followed;
  if (hash === undefined || hash === transaction.hash) {
    return;
  }
  if (transaction.hash !== undefined) {
    warn(
      followed,
      `the transaction was replaced by ${hash}, which makes the same settlement`,
    );
  }
  followed.transaction = { ...transaction, hash };
  followed.emit({ type: "hash", hash });
  await followed.onHash(hash);
}

function warn({ emit }: Followed, message: string): void {
  emit({ type: "trouble", message });
}

/** Counts the confirmations that a block has, itself included. */
function depthOf(block: number, head: number | undefined): number {
  return Math.max(1, (head ?? block) - block + 1);
}

import { vaultError } from "../errors.js";
import { lateAnswer } from "./freshness.js";
import type { FoundTransaction } from "./sighting.js";
import { refusedBy } from "./result.js";
import type { Outcome, Stopped } from "./result.js";
import {
  depthOf,
  effortsOf,
  isFresh,
  isUnsent,
  newestOf,
  wasSeen,
} from "./sighting.js";
import type { History, Plan, Sighting } from "./sighting.js";

/**
 * Ends a settlement whose round is settled or another one: stopped if nothing was sent, open
 * if this process sent it, else dropped.
 */
export function roundClosed(
  plan: Plan,
  history: History,
  obstacle: Stopped,
): Outcome {
  const { hash, from, nonce } = newestOf(plan);
  if (isUnsent(plan, history)) {
    return obstacle;
  }
  const reason = `${obstacle.reason} The node does not have the transaction that was sent before, and it is not sent again.`;
  // A transaction sent by this process may still arrive.
  if (history.some(({ sent }) => sent !== undefined)) {
    return { kind: "open", hash, status: "unconfirmed", reason };
  }
  return {
    ...obstacle,
    kind: "dropped",
    hash,
    mayStillArrive: true,
    reason: `${reason} Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`,
  };
}

/** Ends a settlement that the node does not have: dropped, and it may still arrive. */
export function givenUp(plan: Plan, problem: string | undefined): Outcome {
  const { hash, from, nonce } = newestOf(plan);
  const why =
    problem === undefined
      ? refusedBy(vaultError("VAULT_SETTLEMENT_LOST", { from, nonce }))
      : {
          status: "refused" as const,
          code: "VAULT_RPC_ERROR" as const,
          reason: `The node does not have the transaction, and answered it with an error: ${problem}`,
        };
  return { ...why, kind: "dropped", hash, mayStillArrive: true };
}

/**
 * Ends a settlement whose nonce another transaction used: dropped.
 *
 * @returns Undefined if it is not certain yet.
 */
export function replacedBy(
  plan: Plan,
  { head }: Sighting,
  { by }: Extract<FoundTransaction, { kind: "used" }>,
): Outcome | undefined {
  const { hash, from, nonce } = newestOf(plan);
  if (by === "unseen") {
    return undefined;
  }
  const isCertain =
    by === "nothing" || depthOf(by.block, head) >= plan.confirmations;
  const user =
    by === "nothing"
      ? `no transaction of ${from} has its nonce ${nonce}, which is used (an EIP-7702 authorization uses one, too)`
      : `transaction ${by.transaction.hash} of ${from} used its nonce ${nonce}`;
  const reason = `It was replaced: ${user}, so it can never be mined.`;
  return isCertain
    ? { kind: "dropped", hash, status: "unconfirmed", reason }
    : undefined;
}

export function timedOut(
  plan: Plan,
  history: History,
  last: Sighting,
): Outcome {
  const { hash, from, nonce } = newestOf(plan);
  const { sends, refusals } = effortsOf(history);
  const { transaction } = last;
  // At the end of the time, a look often has no answer; the one before may be long ago.
  const lastRound = history.findLast((one) => one.round !== undefined)?.round;
  if (isUnsent(plan, history)) {
    return refusedBy(lateAnswer(plan.network));
  }
  if (
    plan.checkedAt !== undefined &&
    transaction.kind === "unknown" &&
    isFresh(lastRound, last.at) &&
    refusals.length === sends &&
    !history.some((one) => wasSeen(one))
  ) {
    const problem = refusals.at(-1)?.problem;
    if (problem !== undefined) {
      return givenUp(plan, problem);
    }
  }
  const receipt =
    transaction.kind === "mined" ? transaction.receipt : undefined;
  const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
  const state = [
    describeState(plan, history, last),
    describeReplacement(history, last),
  ]
    .filter((part) => part !== undefined)
    .map((part) => part.replace(/\.$/u, ""))
    .join("; ");
  const reason = `The time is over for ${what} of ${from} with nonce ${nonce}: ${state}.`;
  return { kind: "open", hash, status: "unconfirmed", receipt, reason };
}

function describeState(
  { confirmations }: Plan,
  history: History,
  { transaction, head, round }: Sighting,
): string {
  switch (transaction.kind) {
    case "mined": {
      const { blockNumber } = transaction.receipt;
      return `it is in block ${blockNumber}, with ${depthOf(blockNumber, head)} of ${confirmations} confirmations`;
    }
    case "pending":
      return transaction.hash === undefined
        ? "a transaction with its nonce waits in the node's pool"
        : "it waits in the node's pool";
    case "used":
      return typeof transaction.by === "string"
        ? "its nonce is used, and by which transaction could not be seen"
        : `transaction ${transaction.by.transaction.hash} used its nonce, with ${depthOf(transaction.by.block, head)} of ${confirmations} confirmations`;
    case "unread":
      return transaction.problem;
    case "unknown": {
      const sent = history.findLast((one) => one.sent !== undefined)?.sent;
      const problem =
        round?.kind === "unread"
          ? `, and it could not be sent again: ${round.problem}`
          : round?.kind === "closed"
            ? ", though it may be what settled the round"
            : sent === undefined || sent.kind === "accepted"
              ? ""
              : `, and sending it failed: ${sent.problem}`;
      return `the node does not have it${problem}`;
    }
  }
}

/** Returns the reason that it was not replaced, if it was to be. */
function describeReplacement(
  history: History,
  { round, transaction }: Sighting,
): string | undefined {
  const { replacement } =
    history.findLast((one) => one.replacement !== undefined) ?? {};
  if (replacement !== undefined && replacement.kind !== "made") {
    return replacement.problem;
  }
  return transaction.kind === "pending" && round?.kind === "closed"
    ? notBumped(round.obstacle.reason)
    : undefined;
}

export function notBumped(reason: string): string {
  return `the transaction is not replaced at a higher fee: ${reason}`;
}

import type { Stopped } from "../settlement-call/outcome.js";
import { refusedBy } from "../settlement-call/outcome.js";
import type { VaultError } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import {
  dropsFor,
  lostReason,
  neverSent,
  nonceUsedReason,
  notSentAgain,
  timeReason,
} from "./endings.js";
import type { Outcome } from "./result.js";
import { depthOf } from "./sighting.js";
import type { Plan, State } from "./state.js";
import { newestOf } from "./transaction.js";

/**
 * Lasting refusals of signed bytes, and then looks that find nothing, until a transaction
 * counts as lost. Without signed bytes, those looks after a refusal or a resume.
 */
const MAX_ATTEMPTS = 5;
/** Looks after a try to send or to replace, until the next one. */
const LOOKS_BETWEEN_TRIES = 2;

export type Decision =
  | {
      /** Look again, after a pause unless it is the first look. */
      readonly kind: "wait";
    }
  /** Read the round, and send the newest transaction if it is open. */
  | { readonly kind: "send" }
  /**
   * Sign a replacement, write it to the journal, and send it like another. A settlement is
   * replaced by a settlement only if its round is open.
   */
  | { readonly kind: "bump" | "cancel" }
  | { readonly kind: "end"; readonly outcome: Outcome };

const wait: Decision = { kind: "wait" };

/**
 * Decides what a settlement does next, from the moment at which the journal has its signed
 * transaction. Pure: by the plan, the state, and the time in Unix milliseconds.
 *
 * carry-out.ts does it, looks at the chain, and asks again. By the newest look:
 *
 * - none yet: send; after a resume, look.
 * - mined: end with enough confirmations, else wait.
 * - the nonce is used by another transaction: end as dropped once that is sure, else wait.
 * - the time is over: end, stopped if nothing has left, else mostly undecided.
 * - a person does not agree to a replacement: end, undecided.
 * - no answer: wait.
 * - in the pool: bump or cancel if that is due; send the newest if the pool has only an
 *   older one; else wait.
 * - none of ours, and the plugin that was to send it failed: end as stopped.
 * - none of ours, the round open: bump, cancel, wait, or send again; give up if it is refused
 *   for good.
 * - none of ours, the round closed: wait until it is sure that ours did not close it. Then
 *   end, as stopped, as undecided if sent here, or as dropped.
 *
 * carry-out.ts itself ends as undecided after an exception, and if another process has
 * finished the settlement that it took over.
 */
export function decide(plan: Plan, state: State, now: number): Decision {
  const decision = next(plan, state, now);
  const settles =
    newestOf(state).kind === "settlement" &&
    (decision.kind === "send" || decision.kind === "bump");
  // Never once a person asked for its cancellation, also if it cannot be cancelled yet.
  return settles && plan.requestedReplacement === "cancel" ? wait : decision;
}

function next(plan: Plan, state: State, now: number): Decision {
  const { transaction, head } = state;
  if (transaction === undefined) {
    return plan.isResumed ? wait : { kind: "send" };
  }
  if (
    transaction.kind === "mined" &&
    depthOf(transaction.receipt.blockNumber, head) >= plan.confirmations
  ) {
    return end(transaction);
  }
  if (transaction.kind === "used" && transaction.by !== "unseen") {
    const { by } = transaction;
    if (by === "nothing" || depthOf(by.block, head) >= plan.confirmations) {
      const { hash } = newestOf(state);
      const reason = nonceUsedReason(state, by);
      return end({ kind: "dropped", hash, status: "unconfirmed", reason });
    }
  }
  if (state.isOver) {
    return end(timeIsOver(plan, state));
  }
  const { tried } = state.replacement ?? {};
  if (tried?.kind === "declined") {
    const { hash } = newestOf(state);
    const reason = `It is not mined yet, and ${tried.problem}`;
    return end({ kind: "undecided", hash, status: "unconfirmed", reason });
  }
  switch (transaction.kind) {
    case "pending":
      return (
        replacementDue(plan, state, now) ??
        (isOvertaken(state, transaction.hash) && mayTry(state)
          ? { kind: "send" }
          : wait)
      );
    case "unknown":
      return (
        nothingLeft(plan, state) ??
        replacementDue(plan, state, now) ??
        notFound(plan, state)
      );
    default:
      return wait;
  }
}

function mayTry({ looks }: State): boolean {
  return looks >= LOOKS_BETWEEN_TRIES;
}

/**
 * True if the pool has another transaction, or one of which only the nonce is known, and the
 * newest has not left, was refused for the moment, or its answer was lost.
 */
function isOvertaken(state: State, pending: Hex | undefined): boolean {
  const { transactions, answer } = state;
  const newest = newestOf(state);
  const hasLeft =
    answer?.kind === "accepted" ||
    (answer?.kind === "refused" && !answer.isTransient);
  return (
    !hasLeft &&
    transactions.some(
      (one) =>
        one !== newest && (pending === undefined || one.hash === pending),
    )
  );
}

/** True if this process made it and has not sent it yet, and no look found it. */
function isUnsent({ isResumed }: Plan, { sends, wasSeen }: State): boolean {
  return !isResumed && sends === 0 && !wasSeen;
}

/** Ends what never left: a plugin failed, or the round cannot be read however often. */
function nothingLeft(plan: Plan, state: State): Decision | undefined {
  const { answer, round, sends, wasSeen } = state;
  const isFirst = sends === 1 && !plan.isResumed && !wasSeen;
  if (answer?.kind === "failed" && isFirst) {
    return end(refusedBy(answer.error));
  }
  const { error } = round?.kind === "unread" ? round : {};
  return error !== undefined && !isNoAnswer(error) && isUnsent(plan, state)
    ? end(refusedBy(error))
    : undefined;
}

/** True if the same question may have an answer the next time. */
function isNoAnswer({ code }: VaultError): boolean {
  return code === "VAULT_RPC_TIMEOUT" || code === "VAULT_NETWORK_UNREACHABLE";
}

/** @returns Undefined if no replacement is due. */
function replacementDue(
  plan: Plan,
  state: State,
  now: number,
): Decision | undefined {
  const { replacement, transaction, round } = state;
  const isSettlement = newestOf(state).kind === "settlement";
  const requested =
    replacement === undefined || replacement.tried.kind === "failed"
      ? plan.requestedReplacement
      : undefined;
  if (requested === "cancel" && isSettlement) {
    return mayTry(state) ? { kind: "cancel" } : wait;
  }
  if (requested !== "bump" && !isBumpDue(plan, state, now)) {
    return undefined;
  }
  const isLost =
    isSettlement && transaction?.kind === "unknown" && round?.kind !== "open";
  return mayTry(state) && !isLost ? { kind: "bump" } : undefined;
}

function isBumpDue(plan: Plan, state: State, now: number): boolean {
  const { transactions, replacement } = state;
  const { timeBeforeBumpingFees, maxFeeBumps } = plan;
  const newest = newestOf(state);
  // One that failed is tried again after as long: a person may have to sign it.
  const since = Math.max(replacement?.at ?? 0, newest.preparedAt);
  return (
    timeBeforeBumpingFees !== undefined &&
    newest.raw !== undefined &&
    transactions.length - 1 < maxFeeBumps &&
    now - since >= timeBeforeBumpingFees
  );
}

/** The node has none of the transactions, and the nonce is free. */
function notFound(plan: Plan, state: State): Decision {
  const { round, answer, sends, looksInVain } = state;
  const newest = newestOf(state);
  const isSettlement = newest.kind === "settlement";
  if (isSettlement && round?.kind === "closed") {
    const { obstacle, isNonceFree } = round;
    // The node that was asked may be behind, or the round may end soon.
    const mayOpen = obstacle.isEarly === true && sends > 0;
    return isNonceFree && !mayOpen
      ? end(roundIsClosed(plan, state, obstacle))
      : wait;
  }
  const problem = answer?.kind === "refused" ? answer.problem : undefined;
  // A look that cannot read the round may be by a node that is behind: if the round is
  // settled, this transaction may have settled it.
  const isGone = looksInVain >= MAX_ATTEMPTS && round?.kind !== "unread";
  if (newest.raw === undefined && (sends > 0 || plan.isResumed)) {
    // A person may have to approve each send, and the node may choose another nonce.
    const isLost = plan.isResumed || problem !== undefined;
    return isLost && isGone ? end(givenUp(state, problem)) : wait;
  }
  if (state.lastingRefusals >= MAX_ATTEMPTS) {
    return isGone ? end(givenUp(state, problem)) : wait;
  }
  const isDue = sends === 0 || looksInVain >= LOOKS_BETWEEN_TRIES;
  const isOpen = !isSettlement || round?.kind === "open";
  return isDue && isOpen ? { kind: "send" } : wait;
}

function end(outcome: Outcome): Decision {
  return { kind: "end", outcome };
}

/** The node does not have it, and the round is settled or another one. */
function roundIsClosed(plan: Plan, state: State, obstacle: Stopped): Outcome {
  const { hash } = newestOf(state);
  if (isUnsent(plan, state)) {
    return obstacle;
  }
  if (state.sends > 0) {
    // It may still arrive.
    const reason = notSentAgain(obstacle);
    return { kind: "undecided", hash, status: "unconfirmed", reason };
  }
  const reason = dropsFor(state, obstacle);
  return { ...obstacle, kind: "dropped", hash, mayStillArrive: true, reason };
}

/** The node refuses it, or was asked in vain: another one may still have it. */
function givenUp(state: State, problem: string | undefined): Outcome {
  const { hash } = newestOf(state);
  const why = lostReason(state, problem);
  return { ...why, kind: "dropped", hash, mayStillArrive: true };
}

function timeIsOver(plan: Plan, state: State): Outcome {
  if (isUnsent(plan, state)) {
    return neverSent(plan.network, state.round);
  }
  const { transaction, round, answer, sends, refusals } = state;
  if (
    answer?.kind === "refused" &&
    refusals === sends &&
    !plan.isResumed &&
    !state.wasSeen &&
    transaction?.kind === "unknown" &&
    round?.kind === "open"
  ) {
    return givenUp(state, answer.problem);
  }
  // The pool or a block may have an older one than the newest.
  const seen =
    transaction !== undefined && "hash" in transaction
      ? transaction.hash
      : undefined;
  const hash = seen ?? newestOf(state).hash;
  const receipt =
    transaction?.kind === "mined" ? transaction.receipt : undefined;
  const reason = timeReason(plan, state, hash);
  return { kind: "undecided", hash, status: "unconfirmed", receipt, reason };
}

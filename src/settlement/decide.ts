import {
  dropsFor,
  lostReason,
  notBumped,
  notSentAgain,
  nonceUsedReason,
  timeReason,
} from "./endings.js";
import type { Hex } from "../protocol/index.js";
import { isRecent, lateAnswer } from "./freshness.js";
import { refusedBy } from "./result.js";
import type { Outcome, Stopped } from "./result.js";
import {
  depthOf,
  effortsOf,
  isFresh,
  isSentHere,
  isUnsent,
  wasSeen,
} from "./sighting.js";
import type { History, Plan, RoundSighting, Sighting } from "./sighting.js";
import { newestOf } from "./transaction.js";

/**
 * Lasting refusals of signed bytes, and then looks that find nothing, until a transaction
 * counts as lost. Without signed bytes, those looks after a refusal or a resume.
 */
const MAX_ATTEMPTS = 5;
/** Looks that find nothing, the one after the send included, before it is sent again. */
const LOOKS_BEFORE_RESENDING = 2;

export type Decision =
  | {
      readonly kind: "wait";
      /** Before the next look. */
      readonly pause: "none" | "usual";
      /** Also if one of ours is found: else the round is read anyway. */
      readonly readRound: boolean;
      /** Warning, once while it does not change. */
      readonly say?: string | undefined;
    }
  /** Sends the newest transaction. */
  | { readonly kind: "send" }
  /** Sign a replacement, write it to the journal and send it, if it may leave then. */
  | { readonly kind: "bump" | "cancel" }
  | { readonly kind: "end"; readonly outcome: Outcome };

const wait: Extract<Decision, { kind: "wait" }> = {
  kind: "wait",
  pause: "usual",
  readRound: false,
};

/**
 * Decides by what was seen, and by nothing else, from the moment at which the journal has
 * the signed transaction. Before that, settle-all.ts decides whether one is made.
 *
 * carry-out.ts asks for a decision, does it, pauses, and looks at the chain. The next entry
 * of the history is what it saw, and what came of the decision. By the last look:
 *
 * - none yet: send if the round was just checked; after a resume, look.
 * - mined: end with enough confirmations, else wait.
 * - the nonce is used by another transaction: end as dropped once that is sure, else wait.
 * - the time is over: end, stopped if nothing has left, else mostly undecided.
 * - in the pool: bump or cancel if that is due; send the newest if the pool has only an
 *   older one; else wait.
 * - none of ours, the round open: bump, cancel, wait, or send again; give up if it is refused
 *   for good.
 * - none of ours, the round closed: wait until it is sure that ours did not close it. Then
 *   end, as stopped, as undecided if sent here, or as dropped.
 * - no answer: wait.
 *
 * carry-out.ts itself ends as undecided after an exception, and if another process has
 * finished the settlement that it took over.
 *
 * A settlement leaves only while its round was just seen open, and never once a person
 * asked for its cancellation.
 *
 * @param now Unix milliseconds: long after the last sighting if the process was suspended.
 */
export function decide(plan: Plan, history: History, now: number): Decision {
  const decision = next(plan, history, now);
  const settles =
    newestOf(plan).kind === "settlement" &&
    (decision.kind === "send" || decision.kind === "bump");
  // Also if it cannot be cancelled yet.
  return settles && plan.requestedReplacement === "cancel" ? wait : decision;
}

function next(plan: Plan, history: History, now: number): Decision {
  const last = history.at(-1);
  if (last === undefined) {
    return plan.checkedAt === undefined
      ? { ...wait, pause: "none" }
      : isRecent(plan.checkedAt, now)
        ? { kind: "send" }
        : { kind: "wait", pause: "none", readRound: true };
  }
  const { transaction } = last;
  if (
    transaction.kind === "mined" &&
    depthOf(transaction.receipt.blockNumber, last.head) >= plan.confirmations
  ) {
    return end(transaction);
  }
  if (transaction.kind === "used" && transaction.by !== "unseen") {
    const { by } = transaction;
    if (
      by === "nothing" ||
      depthOf(by.block, last.head) >= plan.confirmations
    ) {
      const { hash } = newestOf(plan);
      const reason = nonceUsedReason(plan, by);
      return end({ kind: "dropped", hash, status: "unconfirmed", reason });
    }
  }
  if (last.isOver) {
    return end(timeIsOver(plan, history, last));
  }
  if (transaction.kind !== "pending" && transaction.kind !== "unknown") {
    return wait;
  }
  return (
    replacementDue(plan, history, last, now) ??
    (transaction.kind === "unknown"
      ? notFound(plan, history, last, now)
      : last.sent === undefined && isOvertaken(plan, history, transaction.hash)
        ? sendOrReadRound(plan, last, now)
        : wait)
  );
}

/**
 * True if the pool has another transaction, or one of which only the nonce is known, and the
 * newest has not left, was refused for the moment, or its answer was lost.
 */
function isOvertaken(
  plan: Plan,
  history: History,
  pending: Hex | undefined,
): boolean {
  const newest = newestOf(plan);
  const others = plan.transactions.filter((one) => one !== newest);
  const made = history.findLastIndex(
    ({ replacement }) => replacement?.kind === "made",
  );
  const answers = history.slice(Math.max(0, made)).map(({ sent }) => sent);
  return (
    others.some(({ hash }) => pending === undefined || hash === pending) &&
    answers.every(
      (sent) =>
        sent === undefined ||
        sent.kind === "unanswered" ||
        (sent.kind === "error" && sent.isTransient),
    )
  );
}

/**
 * True if the newest transaction may leave now: a settlement only while its round was just
 * seen open. Asked once more when a replacement is signed, which may take long.
 */
export function mayLeave(
  plan: Plan,
  round: RoundSighting | undefined,
  now: number,
): boolean {
  return newestOf(plan).kind === "cancellation" || isFresh(round, now);
}

/** Signed bytes may be sent often. */
function sendOrReadRound(
  plan: Plan,
  { round }: Sighting,
  now: number,
): Decision {
  return mayLeave(plan, round, now)
    ? { kind: "send" }
    : round === undefined || round.kind === "open"
      ? { kind: "wait", pause: "none", readRound: true }
      : { ...wait, readRound: true };
}

/** @returns Undefined if no replacement is due. */
function replacementDue(
  plan: Plan,
  history: History,
  { round, transaction, replacement }: Sighting,
  now: number,
): Decision | undefined {
  const newest = newestOf(plan);
  if (replacement?.kind === "failed") {
    // One that is requested is tried again after the next look, an automatic one after its
    // time. A settlement that is to be cancelled is not given up before.
    return plan.requestedReplacement === "cancel" &&
      newest.kind === "settlement"
      ? wait
      : undefined;
  }
  const tried = history.findLast((one) => one.replacement !== undefined);
  const requested =
    tried === undefined || tried.replacement?.kind === "failed"
      ? plan.requestedReplacement
      : undefined;
  if (requested === "cancel" && newest.kind === "settlement") {
    return { kind: "cancel" };
  }
  if (requested !== "bump" && !isBumpDue(plan, now, tried)) {
    return undefined;
  }
  // At a higher fee it may be mined in the next round: only while this one was just seen open.
  if (mayLeave(plan, round, now)) {
    return { kind: "bump" };
  }
  return round === undefined || round.kind === "open"
    ? { kind: "wait", pause: "none", readRound: true }
    : round.kind === "unread"
      ? { ...wait, readRound: true }
      : transaction.kind === "unknown"
        ? undefined
        : { ...wait, readRound: true, say: notBumped(round.obstacle.reason) };
}

function isBumpDue(
  plan: Plan,
  now: number,
  tried: Sighting | undefined,
): boolean {
  const { transactions, timeBeforeBumpingFees, maxFeeBumps } = plan;
  const newest = newestOf(plan);
  // One that failed is tried again after as long: a person may have to sign it.
  const since = Math.max(tried?.at ?? 0, newest.preparedAt);
  return (
    timeBeforeBumpingFees !== undefined &&
    newest.raw !== undefined &&
    transactions.length - 1 < maxFeeBumps &&
    now - since >= timeBeforeBumpingFees
  );
}

/** The node has none of the transactions, and the nonce is free. */
function notFound(
  plan: Plan,
  history: History,
  last: Sighting,
  now: number,
): Decision {
  const newest = newestOf(plan);
  const { round } = last;
  if (newest.kind === "settlement" && round?.kind === "closed") {
    const { obstacle, isNonceFree } = round;
    // The node that was asked may be behind, or the round may end soon.
    const passes = obstacle.isEarly === true && isSentHere(history);
    return isNonceFree && !passes
      ? end(roundIsClosed(plan, history, obstacle))
      : wait;
  }
  const { looksInVain, refusals, sends } = effortsOf(history);
  const error = refusals.at(-1);
  // A look that cannot read the round may be by a node that is behind: if the round is
  // settled, this transaction may have settled it.
  const isGone = looksInVain >= MAX_ATTEMPTS && round?.kind !== "unread";
  if (newest.raw === undefined && (sends > 0 || plan.checkedAt === undefined)) {
    // A person may have to approve each send, and the node may choose another nonce.
    const isLost = plan.checkedAt === undefined || error !== undefined;
    return isLost && isGone ? end(givenUp(plan, error?.problem)) : wait;
  }
  if (
    refusals.filter(({ isTransient }) => !isTransient).length >= MAX_ATTEMPTS
  ) {
    return isGone ? end(givenUp(plan, error?.problem)) : wait;
  }
  if (sends > 0 && looksInVain < LOOKS_BEFORE_RESENDING) {
    return wait;
  }
  return sendOrReadRound(plan, last, now);
}

function end(outcome: Outcome): Decision {
  return { kind: "end", outcome };
}

/** The node does not have it, and the round is settled or another one. */
function roundIsClosed(
  plan: Plan,
  history: History,
  obstacle: Stopped,
): Outcome {
  const { hash } = newestOf(plan);
  if (isUnsent(plan, history)) {
    return obstacle;
  }
  if (isSentHere(history)) {
    // It may still arrive.
    const reason = notSentAgain(obstacle);
    return { kind: "undecided", hash, status: "unconfirmed", reason };
  }
  const reason = dropsFor(plan, obstacle);
  return { ...obstacle, kind: "dropped", hash, mayStillArrive: true, reason };
}

/** The node refuses it, or was asked in vain: another one may still have it. */
function givenUp(plan: Plan, problem: string | undefined): Outcome {
  const { hash } = newestOf(plan);
  const why = lostReason(plan, problem);
  return { ...why, kind: "dropped", hash, mayStillArrive: true };
}

function timeIsOver(plan: Plan, history: History, last: Sighting): Outcome {
  if (isUnsent(plan, history)) {
    return refusedBy(lateAnswer(plan.network));
  }
  const { transaction } = last;
  const { sends, refusals } = effortsOf(history);
  const refused = refusals.length === sends ? refusals.at(-1) : undefined;
  // At the end of the time, a look often has no answer; the one before may be long ago.
  const round = history.findLast((one) => one.round !== undefined)?.round;
  if (
    refused !== undefined &&
    plan.checkedAt !== undefined &&
    transaction.kind === "unknown" &&
    isFresh(round, last.at) &&
    !history.some((one) => wasSeen(one))
  ) {
    return givenUp(plan, refused.problem);
  }
  // The pool or a block may have an older one than the newest.
  const seen = "hash" in transaction ? transaction.hash : undefined;
  const hash = seen ?? newestOf(plan).hash;
  const receipt =
    transaction.kind === "mined" ? transaction.receipt : undefined;
  const reason = timeReason(plan, history, last, hash);
  return { kind: "undecided", hash, status: "unconfirmed", receipt, reason };
}

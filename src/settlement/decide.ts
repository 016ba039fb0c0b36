import {
  givenUp,
  notBumped,
  replacedBy,
  roundClosed,
  timedOut,
} from "./endings.js";
import { isRecent } from "./freshness.js";
import type { Outcome } from "./result.js";
import { depthOf, effortsOf, isFresh, newestOf } from "./sighting.js";
import type { History, Plan, RoundSighting, Sighting } from "./sighting.js";

/** Refused sends, or looks that find nothing, until a transaction counts as lost. */
const MAX_ATTEMPTS = 5;
/** Looks that find nothing before this process sends it again. */
const LOOKS_BEFORE_RESENDING = 2;

export type Decision =
  | {
      readonly kind: "wait";
      /** Before the next look. */
      readonly pause: "none" | "usual";
      readonly readRound: boolean;
      /** Warning, once while it does not change. */
      readonly say?: string | undefined;
    }
  /** Sends the newest transaction. */
  | { readonly kind: "send" }
  | { readonly kind: "bump" }
  | { readonly kind: "cancel" }
  | { readonly kind: "end"; readonly outcome: Outcome };

const wait: Extract<Decision, { kind: "wait" }> = {
  kind: "wait",
  pause: "usual",
  readRound: false,
};

/**
 * Decides by what was seen, and by nothing else.
 *
 * @param now Unix milliseconds: long after the last sighting if the process was suspended.
 */
export function decide(plan: Plan, history: History, now: number): Decision {
  const decision = decideWithoutRequest(plan, history, now);
  const settles =
    newestOf(plan).kind === "settlement" &&
    (decision.kind === "send" || decision.kind === "bump");
  // A person wants it cancelled: it never leaves, also if it cannot be cancelled yet.
  return settles && plan.requestedReplacement === "cancel" ? wait : decision;
}

function decideWithoutRequest(
  plan: Plan,
  history: History,
  now: number,
): Decision {
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
    return { kind: "end", outcome: transaction };
  }
  if (transaction.kind === "used") {
    const outcome = replacedBy(plan, last, transaction);
    if (outcome !== undefined) {
      return { kind: "end", outcome };
    }
  }
  if (last.isOver) {
    return { kind: "end", outcome: timedOut(plan, history, last) };
  }
  if (transaction.kind !== "pending" && transaction.kind !== "unknown") {
    return wait;
  }
  return (
    replace(plan, history, last, now) ??
    (transaction.kind === "unknown"
      ? notFound(plan, history, last, now)
      : isOvertaken(plan, history, transaction.hash)
        ? sendNewest(plan, last, now)
        : wait)
  );
}

/**
 * True if the pool has an older transaction, and the newest was not sent, or its answer was
 * lost.
 */
function isOvertaken(
  { transactions }: Plan,
  history: History,
  pending: string | undefined,
): boolean {
  const made = history.findLastIndex(
    ({ replacement }) => replacement?.kind === "made",
  );
  const answers = history.slice(Math.max(0, made)).map(({ sent }) => sent);
  return (
    transactions.slice(0, -1).some(({ hash }) => hash === pending) &&
    answers.every((sent) => sent === undefined || sent.kind === "lost")
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
function sendNewest(plan: Plan, { round }: Sighting, now: number): Decision {
  return mayLeave(plan, round, now)
    ? { kind: "send" }
    : round === undefined || round.kind === "open"
      ? { kind: "wait", pause: "none", readRound: true }
      : { ...wait, readRound: true };
}

/** @returns Undefined if no replacement is due. */
function replace(
  plan: Plan,
  history: History,
  { round, transaction, replacement }: Sighting,
  now: number,
): Decision | undefined {
  if (replacement?.kind === "failed") {
    // Tried again after the next look.
    return undefined;
  }
  const newest = newestOf(plan);
  const tried = history.findLast((one) => one.replacement !== undefined);
  const isRequested =
    plan.requestedReplacement !== undefined &&
    (tried === undefined || tried.replacement?.kind === "failed");
  if (isRequested && plan.requestedReplacement === "cancel") {
    return newest.kind === "cancellation" ? undefined : { kind: "cancel" };
  }
  if (!isRequested && !isBumpDue(plan, now, tried)) {
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
  const since =
    tried?.replacement?.kind === "forbidden"
      ? Math.max(tried.at, newest.preparedAt)
      : newest.preparedAt;
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
    return round.isNonceFree
      ? { kind: "end", outcome: roundClosed(plan, history, round.obstacle) }
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
    return isLost && isGone
      ? { kind: "end", outcome: givenUp(plan, error?.problem) }
      : wait;
  }
  if (
    refusals.filter(({ isTransient }) => !isTransient).length >= MAX_ATTEMPTS
  ) {
    return isGone
      ? { kind: "end", outcome: givenUp(plan, error?.problem) }
      : wait;
  }
  if (sends > 0 && looksInVain < LOOKS_BEFORE_RESENDING) {
    return wait;
  }
  return sendNewest(plan, last, now);
}

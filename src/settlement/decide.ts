import { vaultError } from "../errors.js";
import type { Receipt } from "../rpc/rpc-client.js";
import type { FoundTransaction } from "./find-transaction.js";
import { refusedBy } from "./observe.js";
import type { SendAnswer } from "./send.js";
import type { SentTransaction } from "./transaction.js";
import type { Stop } from "./types.js";

/** Refused sends, or looks that find nothing, until a transaction counts as lost. */
const MAX_ATTEMPTS = 5;
/** Looks that find nothing before this process sends it again. */
const LOOKS_BEFORE_SENDING = 2;
/** A reading of the round counts for so long, by the wall clock. */
const MAX_ROUND_AGE_MS = 5_000;

/** Transactions of a settlement, and the rules for others in their place. */
export interface Plan {
  readonly network: string;
  /** Oldest first; all have the same account and nonce. */
  readonly transactions: SentTransactions;
  /** `send` if the round was checked just now and nothing has left yet, else `find`. */
  readonly start: "send" | "find";
  readonly confirmations: number;
  /** Replacement that a person asks for. */
  readonly request?: "bump" | "cancel" | undefined;
  /** Milliseconds; undefined: fees are never raised without a request. */
  readonly timeBeforeBumpingFees?: number | undefined;
  readonly maxFeeBumps: number;
}

export type SentTransactions = readonly [SentTransaction, ...SentTransaction[]];

/** Result of one look, and of the action before it. */
export interface Sighting {
  /** End of the look, Unix milliseconds. */
  readonly at: number;
  /** True if the time of the settlement is over. */
  readonly isOver: boolean;
  readonly transaction:
    | FoundTransaction
    | { readonly kind: "unread"; readonly problem: string };
  /** Number of the newest block; read with more than one confirmation. */
  readonly head?: number | undefined;
  /** Read if the transaction is unknown, or if that was asked for. */
  readonly round?: RoundSighting | undefined;
  /** Answer to the transaction that was sent before this look. */
  readonly sent?: SendAnswer | undefined;
  /** Replacement that was tried before this look. */
  readonly replacement?: Replacement | undefined;
}

export type RoundSighting =
  | { readonly kind: "open"; readonly askedAt: number }
  | {
      readonly kind: "closed";
      readonly obstacle: Stop;
      /** True if the nonce is unused in a block that has the obstacle. */
      readonly isNonceFree: boolean;
    }
  | { readonly kind: "unread"; readonly problem: string };

export type Replacement =
  | { readonly kind: "made"; readonly hash: string }
  /** A limit forbids it. */
  | { readonly kind: "forbidden"; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string };

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

/** End of the transactions of a settlement. */
export type Outcome =
  | {
      readonly kind: "mined";
      readonly hash: string;
      readonly receipt: Receipt;
      /** The one of the transactions that was mined. */
      readonly transaction: SentTransaction;
    }
  | (Stop & {
      /** `open`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "open";
      readonly hash: string | undefined;
      readonly receipt?: Receipt | undefined;
      /** True if it was dropped and its nonce is not used. */
      readonly mayStillArrive?: boolean | undefined;
      /** True if it was dropped before it was sent at all. */
      readonly neverSent?: boolean | undefined;
    });

type History = readonly Sighting[];

const wait: Extract<Decision, { kind: "wait" }> = {
  kind: "wait",
  pause: "usual",
  readRound: false,
};

/** Decides by what was seen, and by nothing else. */
export function decide(plan: Plan, history: History): Decision {
  const last = history.at(-1);
  if (last === undefined) {
    return plan.start === "send"
      ? { kind: "send" }
      : { ...wait, pause: "none" };
  }
  const { transaction } = last;
  if (
    transaction.kind === "mined" &&
    hasDepth(plan, last, transaction.receipt)
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
    replace(plan, history, last) ??
    (transaction.kind === "unknown"
      ? notFound(plan, history, last)
      : isOvertaken(plan, history, transaction.hash)
        ? sendNewest(plan, last)
        : wait)
  );
}

/** True if an older one waits, and the node has not answered the newest. */
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

/** Signed bytes may be sent often, a settlement only while its round is open. */
function sendNewest(plan: Plan, { round, at }: Sighting): Decision {
  return newestOf(plan).kind === "cancellation" || isFresh(round, at)
    ? { kind: "send" }
    : round === undefined || round.kind === "open"
      ? { kind: "wait", pause: "none", readRound: true }
      : { ...wait, readRound: true };
}

/** @returns Undefined if no replacement is due. */
function replace(
  plan: Plan,
  history: History,
  { at, round, transaction, replacement }: Sighting,
): Decision | undefined {
  if (replacement?.kind === "failed") {
    // Tried again after the next look.
    return undefined;
  }
  const newest = newestOf(plan);
  const tried = history.findLast((one) => one.replacement !== undefined);
  const isRequested =
    plan.request !== undefined &&
    (tried === undefined || tried.replacement?.kind === "failed");
  if (isRequested && plan.request === "cancel") {
    return newest.kind === "cancellation" ? undefined : { kind: "cancel" };
  }
  if (!isRequested && !isBumpDue(plan, at, tried)) {
    return undefined;
  }
  // A higher fee would make a settlement of another round more likely.
  if (newest.kind === "cancellation" || isFresh(round, at)) {
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

function notBumped(reason: string): string {
  return `the transaction is not replaced at a higher fee: ${reason}`;
}

function isBumpDue(
  { transactions, timeBeforeBumpingFees, maxFeeBumps }: Plan,
  now: number,
  tried: Sighting | undefined,
): boolean {
  const newest = transactions.at(-1) ?? transactions[0];
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
function notFound(plan: Plan, history: History, last: Sighting): Decision {
  const newest = newestOf(plan);
  const { round } = last;
  if (newest.kind === "settlement" && round?.kind === "closed") {
    return round.isNonceFree
      ? { kind: "end", outcome: roundClosed(plan, history, round.obstacle) }
      : wait;
  }
  const { unseen, errors, answers } = effortsOf(history);
  const error = errors.at(-1);
  if (newest.raw === undefined && (answers > 0 || plan.start === "find")) {
    // A person may have to approve each send, and the node may choose another nonce.
    const isLost = plan.start === "find" || error !== undefined;
    // A look that cannot read the round may be by a node that is behind: if the round is
    // settled, this transaction may have settled it.
    return isLost && unseen >= MAX_ATTEMPTS && round?.kind === "open"
      ? { kind: "end", outcome: givenUp(plan, error?.problem) }
      : wait;
  }
  if (errors.filter(({ isTransient }) => !isTransient).length >= MAX_ATTEMPTS) {
    return unseen >= MAX_ATTEMPTS
      ? { kind: "end", outcome: givenUp(plan, error?.problem) }
      : wait;
  }
  if (answers > 0 && unseen < LOOKS_BEFORE_SENDING) {
    return wait;
  }
  return sendNewest(plan, last);
}

function roundClosed(plan: Plan, history: History, obstacle: Stop): Outcome {
  const { hash, from, nonce } = newestOf(plan);
  if (isUnsent(plan, history)) {
    return { ...obstacle, kind: "dropped", hash: undefined, neverSent: true };
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

function givenUp(plan: Plan, problem: string | undefined): Outcome {
  const { hash, from, nonce } = newestOf(plan);
  const why: Stop =
    problem === undefined
      ? refusedBy(vaultError("VAULT_SETTLEMENT_LOST", { from, nonce }))
      : {
          status: "refused",
          code: "VAULT_RPC_ERROR",
          reason: `The node does not have the transaction, and answered it with an error: ${problem}`,
        };
  return { ...why, kind: "dropped", hash, mayStillArrive: true };
}

/** @returns Undefined if it is not certain yet. */
function replacedBy(
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

function timedOut(plan: Plan, history: History, last: Sighting): Outcome {
  const { hash, from, nonce } = newestOf(plan);
  const { answers, errors } = effortsOf(history);
  const { transaction } = last;
  // At the end of the time, a look often has no answer.
  const lastRound = history.findLast((one) => one.round !== undefined)?.round;
  if (isUnsent(plan, history)) {
    const late = vaultError("VAULT_LATE_ANSWER", {
      network: plan.network,
      seconds: MAX_ROUND_AGE_MS / 1_000,
    });
    return {
      ...refusedBy(late),
      kind: "dropped",
      hash: undefined,
      neverSent: true,
    };
  }
  if (
    plan.start === "send" &&
    transaction.kind === "unknown" &&
    lastRound?.kind === "open" &&
    errors.length === answers &&
    !history.some((one) => wasSeen(one))
  ) {
    const problem = errors.at(-1)?.problem;
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

interface Efforts {
  /** Looks in a row that did not find it, since it was seen or sent. */
  readonly unseen: number;
  /** Refusals in a row of the latest sends. */
  readonly errors: ReadonlyArray<Extract<SendAnswer, { kind: "error" }>>;
  /** Number of sends. */
  readonly answers: number;
}

function effortsOf(history: History): Efforts {
  let unseen = 0;
  let errors: Array<Extract<SendAnswer, { kind: "error" }>> = [];
  let answers = 0;
  for (const { sent, transaction } of history) {
    if (sent !== undefined) {
      unseen = 0;
      answers += 1;
      errors = sent.kind === "error" ? [...errors, sent] : [];
    }
    if (transaction.kind === "unknown") {
      unseen += 1;
    } else if (transaction.kind !== "unread") {
      unseen = 0;
      errors = [];
    }
  }
  return { unseen, errors, answers };
}

/** True if this process is the only one that has it, and has not sent it yet. */
function isUnsent({ start }: Plan, history: History): boolean {
  return (
    start === "send" &&
    !history.some((one) => one.sent !== undefined || wasSeen(one))
  );
}

function wasSeen({ transaction: { kind } }: Sighting): boolean {
  return kind === "mined" || kind === "pending" || kind === "used";
}

/** @param now Unix milliseconds: a clock that stands still in a suspend is none. */
export function isFresh(
  round: RoundSighting | undefined,
  now: number,
): boolean {
  return round?.kind === "open" && now - round.askedAt <= MAX_ROUND_AGE_MS;
}

function newestOf({ transactions }: Plan): SentTransaction {
  return transactions.at(-1) ?? transactions[0];
}

function hasDepth(
  { confirmations }: Plan,
  { head }: Sighting,
  { blockNumber }: Receipt,
): boolean {
  return depthOf(blockNumber, head) >= confirmations;
}

/** Counts the confirmations that a block has, itself included. */
export function depthOf(block: number, head: number | undefined): number {
  return Math.max(1, (head ?? block) - block + 1);
}

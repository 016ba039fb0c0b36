import type { Hex } from "../protocol/index.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import type { CheckRound } from "./check-round.js";
import { decide, mayLeave } from "./decide.js";
import type { TimeLimit } from "./freshness.js";
import { look } from "./look.js";
import type { Seen } from "./look.js";
import type { ParsedOptions, RequestedReplacement } from "./options.js";
import type { SignedReplacement } from "./replace.js";
import type { Outcome } from "./result.js";
import { describeProblem, send } from "./send.js";
import type { SendAnswer } from "./send.js";
import { depthOf, isSentHere } from "./sighting.js";
import type { History, Plan, Replacement, Sighting } from "./sighting.js";
import { newestOf } from "./transaction.js";
import type { SentTransaction, SentTransactions } from "./transaction.js";
import type { SettlementEvent } from "./types.js";

const NOT_IN_TIME = "the node did not answer in time";

/** The chain, the key and the journal, as a plan needs them. */
export interface Means extends Pick<
  ParsedOptions,
  "emit" | "firstCheckAfterMs" | "pollingIntervalMs"
> {
  /** Without retries: each decision includes them. */
  readonly rpc: RpcClient;
  readonly limit: TimeLimit;
  readonly checkRound: CheckRound;
  readonly sign: (
    newest: SentTransaction,
    kind: RequestedReplacement,
  ) => Promise<SignedReplacement>;
  /**
   * Writes the transactions to the journal.
   *
   * @returns Those that it has then; undefined if it is of another settlement by now.
   */
  readonly record: (
    transactions: SentTransactions,
  ) => Promise<SentTransactions | undefined>;
}

/** The end of a plan, and what it came to. */
export interface CarriedOut {
  readonly outcome: Outcome;
  /** Those of the plan, and what replaced them. */
  readonly transactions: SentTransactions;
  /** All hashes that these had, oldest first. */
  readonly hashes: readonly Hex[];
}

/** Of a plan at one moment. */
interface Progress {
  readonly plan: Plan;
  readonly history: History;
  /** Oldest first, without repetition. */
  readonly hashes: readonly Hex[];
}

/** Looks, and does what is decided, until the end. Never throws. */
export async function carryOut(plan: Plan, means: Means): Promise<CarriedOut> {
  const { limit, emit, pollingIntervalMs, firstCheckAfterMs } = means;
  const warn = (message: string): void => {
    emit({ type: "trouble", message });
  };
  let progress = withTransactions(
    { plan, history: [], hashes: [] },
    plan.transactions,
  );
  const end = (outcome: Outcome): CarriedOut => ({
    outcome,
    transactions: progress.plan.transactions,
    hashes: progress.hashes,
  });
  let said: string | undefined;
  try {
    for (;;) {
      const decision = decide(progress.plan, progress.history, Date.now());
      if (decision.kind === "end") {
        return end(decision.outcome);
      }
      let replacement: Replacement | undefined;
      let sent: SendAnswer | undefined;
      if (decision.kind === "wait") {
        if (decision.say !== undefined && decision.say !== said) {
          warn(decision.say);
        }
        said = decision.say;
        const isUsual = decision.pause === "usual";
        await pause(isUsual ? pollingIntervalMs : 0, limit.signal);
      } else {
        if (decision.kind === "send") {
          const known = await transactionsToSend(progress, means);
          if (known === undefined) {
            const { hash } = newestOf(progress.plan);
            return end({
              kind: "undecided",
              status: "unconfirmed",
              hash,
              reason: FINISHED_BY_OTHER,
            });
          }
          progress = withTransactions(progress, known);
          announceFirst(progress, means);
        } else {
          const made = await signAndRecord(progress.plan, decision.kind, means);
          ({ replacement } = made);
          progress = withTransactions(progress, made.transactions);
        }
        const { round } = progress.history.at(-1) ?? {};
        // The journal has a replacement: if signing took too long, it is sent later.
        if (
          decision.kind === "send" ||
          (replacement?.kind === "made" &&
            mayLeave(progress.plan, round, Date.now()))
        ) {
          sent = await sendNewest(progress.plan, means);
          progress = await learn(progress, sent, means);
        }
        const problem = problemOf({ sent, replacement });
        if (problem !== undefined) {
          warn(problem);
        }
        await pause(firstCheckAfterMs, limit.signal);
      }
      const readRound = decision.kind === "wait" && decision.readRound;
      const seen = await lookInTime(progress, readRound, means);
      const { isOver } = limit;
      const now = { at: Date.now(), isOver, ...seen, sent, replacement };
      progress = { ...progress, history: [...progress.history, now] };
      progress = await learn(progress, seen.transaction, means);
      newsOf(progress.plan, progress.history).forEach(emit);
    }
  } catch (error) {
    const reason = describeProblem(error);
    const { hash } = newestOf(progress.plan);
    return end({ kind: "undecided", status: "unconfirmed", reason, hash });
  }
}

function withTransactions(
  progress: Progress,
  transactions: SentTransactions,
): Progress {
  const known = transactions.flatMap(({ hash }) => hash ?? []);
  return {
    ...progress,
    plan: { ...progress.plan, transactions },
    hashes: [...new Set([...progress.hashes, ...known])],
  };
}

async function lookInTime(
  { plan, history }: Progress,
  readRound: boolean,
  { rpc, limit, checkRound }: Means,
): Promise<Seen> {
  const { scan } = history.findLast((one) => one.scan !== undefined) ?? {};
  const seen = await unlessAborted(
    look(rpc, plan, scan, checkRound, readRound),
    limit.signal,
  );
  const nothing = { kind: "unread", problem: NOT_IN_TIME } as const;
  // The last sighting is all that is known.
  const { transaction = nothing, head } = history.at(-1) ?? {};
  return seen ?? { transaction, head };
}

const FINISHED_BY_OTHER =
  "Another process has finished this settlement, so it is not sent.";

/**
 * Reads the journal again before the first send of a process that took it over.
 *
 * @returns Undefined if another process has finished it.
 */
async function transactionsToSend(
  { plan, history }: Progress,
  { record }: Means,
): Promise<SentTransactions | undefined> {
  return plan.checkedAt === undefined && !isSentHere(history)
    ? await record(plan.transactions)
    : plan.transactions;
}

function announceFirst({ plan, history }: Progress, { emit }: Means): void {
  if (!isSentHere(history)) {
    const { hash = null, nonce } = newestOf(plan);
    emit({ type: "sending", hash, nonce });
  }
}

async function sendNewest(
  plan: Plan,
  { rpc, limit }: Means,
): Promise<SendAnswer> {
  const late = { kind: "unanswered", problem: "no answer in time" } as const;
  const answer = await unlessAborted(send(rpc, newestOf(plan)), limit.signal);
  return answer ?? late;
}

/** Signs a replacement and writes it to the journal; it is sent only then. */
async function signAndRecord(
  plan: Plan,
  kind: RequestedReplacement,
  { limit, sign, record, emit }: Means,
): Promise<{
  readonly replacement: Replacement;
  readonly transactions: SentTransactions;
}> {
  const failed = (problem: string, how: "failed" | "forbidden" = "failed") => ({
    replacement: {
      kind: how,
      problem: `the transaction is not ${kind === "bump" ? "replaced at a higher fee" : "cancelled"}: ${problem}`,
    },
    transactions: plan.transactions,
  });
  try {
    const signed = await unlessAborted(
      sign(newestOf(plan), kind),
      limit.signal,
    );
    if (signed === undefined || limit.isOver) {
      return failed(NOT_IN_TIME);
    }
    if (signed.kind === "forbidden") {
      return failed(signed.problem, "forbidden");
    }
    const { transaction } = signed;
    const transactions = await record([...plan.transactions, transaction]);
    if (transactions === undefined) {
      return failed("another process has finished this settlement");
    }
    const { hash, nonce } = transaction;
    emit({ type: "replacing", kind: transaction.kind, hash, nonce });
    return { replacement: { kind: "made", hash }, transactions };
  } catch (error) {
    return failed(describeProblem(error));
  }
}

/** Notes a hash that was not known before. */
async function learn(
  progress: Progress,
  found: SendAnswer | Sighting["transaction"],
  { emit, record }: Means,
): Promise<Progress> {
  const { plan, hashes } = progress;
  const hash = "hash" in found ? found.hash : undefined;
  if (hash === undefined || hashes.includes(hash)) {
    return progress;
  }
  const warn = (message: string): void => {
    emit({ type: "trouble", message });
  };
  const newest = newestOf(plan);
  if (newest.hash !== undefined) {
    warn(
      `the transaction was replaced by ${hash}, which makes the same settlement`,
    );
  }
  emit({ type: "hash", hash });
  const learnt = { ...progress, hashes: [...hashes, hash] };
  // Signed bytes keep the hash that the journal has.
  if (newest.raw !== undefined) {
    return learnt;
  }
  const [first, ...others] = plan.transactions;
  const known: SentTransactions = [{ ...first, hash }, ...others];
  await record(known).catch((error: unknown) => {
    warn(describeProblem(error));
  });
  return { ...learnt, plan: { ...plan, transactions: known } };
}

/** Returns the events of the latest sighting: what is new since the one before. */
function newsOf(
  { confirmations }: Pick<Plan, "confirmations">,
  history: History,
): readonly SettlementEvent[] {
  const [before, now] = [history.at(-2), history.at(-1)];
  if (now === undefined) {
    return [];
  }
  // A look that failed changes nothing.
  const known = history
    .slice(0, -1)
    .findLast(({ transaction: { kind } }) => kind !== "unread");
  const was = known?.transaction;
  const is = now.transaction;
  const events: SettlementEvent[] = [];
  const warn = (message: string): void => {
    events.push({ type: "trouble", message });
  };
  if (is.kind === "unread") {
    if (before?.transaction.kind !== "unread") {
      warn(is.problem);
    }
    return events;
  }
  if (now.round?.kind === "unread" && before?.round?.kind !== "unread") {
    warn(now.round.problem);
  }
  const isReorged =
    was?.kind === "mined" &&
    (is.kind !== "mined" || is.receipt.blockHash !== was.receipt.blockHash);
  if (isReorged) {
    const { blockNumber } = was.receipt;
    warn(`a re-org took the transaction out of block ${blockNumber}`);
  }
  if (
    is.kind === "unknown" &&
    (was?.kind === "pending" || was?.kind === "mined")
  ) {
    warn("the node dropped the transaction");
  }
  if (is.kind !== "mined") {
    return events;
  }
  const { hash, receipt } = is;
  const { blockNumber } = receipt;
  const isKnown = was?.kind === "mined" && !isReorged;
  if (!isKnown) {
    events.push({ type: "mined", hash, blockNumber });
  }
  const countOf = (sighting: Sighting | undefined): number =>
    Math.min(depthOf(blockNumber, sighting?.head), confirmations);
  if (confirmations > 1 && (!isKnown || countOf(now) > countOf(known))) {
    const [count, wanted] = [countOf(now), confirmations];
    events.push({ type: "confirmed", hash, confirmations: count, wanted });
  }
  return events;
}

/** Returns the failure of a send or a replacement. */
function problemOf({
  sent,
  replacement,
}: Pick<Sighting, "sent" | "replacement">): string | undefined {
  if (replacement !== undefined && replacement.kind !== "made") {
    return replacement.problem;
  }
  return sent === undefined || sent.kind === "accepted"
    ? undefined
    : sent.kind === "error"
      ? `the node answered the transaction with an error (${sent.problem}); looking for it`
      : `the answer to sending was lost (${sent.problem}); looking for the transaction`;
}

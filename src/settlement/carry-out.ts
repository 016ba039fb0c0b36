import type { RpcClient } from "../rpc/rpc-client.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import type { CheckRound } from "./check-round.js";
import { decide } from "./decide.js";
import type { Decision } from "./decide.js";
import { isRecent } from "./freshness.js";
import type { TimeLimit } from "./freshness.js";
import { look } from "./look.js";
import type { Seen } from "./look.js";
import type { ParsedOptions, RequestedReplacement } from "./options.js";
import type { Outcome } from "./result.js";
import { describeProblem, send } from "./send.js";
import type { SendAnswer } from "./send.js";
import { depthOf, isFresh, newestOf } from "./sighting.js";
import type {
  Plan,
  Replacement,
  SentTransactions,
  Sighting,
} from "./sighting.js";
import type { SentTransaction } from "./transaction.js";
import type { SettlementEvent } from "./types.js";

const NO_ANSWER = "the node did not answer in time";

/** The chain, the key and the journal, as a plan needs them. */
export interface Means extends Pick<
  ParsedOptions,
  "emit" | "firstCheckAfterMs" | "pollingIntervalMs"
> {
  /** Without retries: each decision includes them. */
  readonly rpc: RpcClient;
  readonly limit: TimeLimit;
  readonly checkRound: CheckRound;
  /** Time of the last check before this, Unix milliseconds. */
  readonly checkedAt?: number | undefined;
  /** @returns A text if a limit forbids the replacement. */
  readonly sign: (
    newest: SentTransaction,
    kind: RequestedReplacement,
  ) => Promise<SentTransaction | string>;
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
  readonly hashes: readonly string[];
}

/** Looks, and does what is decided, until the end. Never throws. */
export async function carryOut(plan: Plan, means: Means): Promise<CarriedOut> {
  return await new Execution(plan, means).run();
}

class Execution {
  #plan: Plan;
  readonly #history: Sighting[] = [];
  readonly #hashes = new Set<string>();

  constructor(
    plan: Plan,
    private readonly means: Means,
  ) {
    this.#plan = plan;
    this.#addHashes(plan.transactions);
  }

  public async run(): Promise<CarriedOut> {
    const outcome = await this.#toTheEnd().catch((error: unknown): Outcome => {
      const reason = describeProblem(error);
      const { hash } = this.#newest;
      return { kind: "open", status: "unconfirmed", reason, hash };
    });
    const { transactions } = this.#plan;
    return { outcome, transactions, hashes: [...this.#hashes] };
  }

  async #toTheEnd(): Promise<Outcome> {
    const { limit, emit, pollingIntervalMs, firstCheckAfterMs } = this.means;
    let said: string | undefined;
    for (;;) {
      const decision = this.#unlessOutdated(decide(this.#plan, this.#history));
      if (decision.kind === "end") {
        return decision.outcome;
      }
      let done: Pick<Sighting, "sent" | "replacement"> = {};
      let readRound = false;
      if (decision.kind === "wait") {
        ({ readRound } = decision);
        if (decision.say !== undefined && decision.say !== said) {
          this.#warn(decision.say);
        }
        said = decision.say;
        await pause(
          decision.pause === "usual" ? pollingIntervalMs : 0,
          limit.signal,
        );
      } else {
        done = await this.#act(decision);
        const problem = problemOf(done);
        if (problem !== undefined) {
          this.#warn(problem);
        }
        await pause(firstCheckAfterMs, limit.signal);
      }
      const seen = await this.#look(readRound);
      this.#history.push({
        at: Date.now(),
        isOver: limit.isOver,
        ...seen,
        ...done,
      });
      await this.#learn(seen.transaction);
      newsOf(this.#plan, this.#history).forEach(emit);
    }
  }

  /** The process may have been suspended since the round was read: it is read again. */
  #unlessOutdated(decision: Decision): Decision {
    const sends = decision.kind === "send" || decision.kind === "bump";
    return sends &&
      this.#newest.kind === "settlement" &&
      !isRecent(this.#checkedAt)
      ? { kind: "wait", pause: "none", readRound: true }
      : decision;
  }

  get #checkedAt(): number {
    const checks = this.#history.flatMap(({ round }) =>
      round?.kind === "open" ? round.answeredAt : [],
    );
    return checks.at(-1) ?? this.means.checkedAt ?? -Infinity;
  }

  async #look(readRound: boolean): Promise<Seen> {
    const { rpc, limit, checkRound } = this.means;
    const { scan } =
      this.#history.findLast((one) => one.scan !== undefined) ?? {};
    const seen = await unlessAborted(
      look(rpc, this.#plan, scan, checkRound, readRound),
      limit.signal,
    );
    const nothing = { kind: "unread", problem: NO_ANSWER } as const;
    // The last sighting is all that is known.
    const { transaction = nothing } = this.#history.at(-1) ?? {};
    return seen ?? { transaction };
  }

  async #act({
    kind,
  }: Exclude<Decision, { kind: "end" | "wait" }>): Promise<
    Pick<Sighting, "sent" | "replacement">
  > {
    if (kind === "send") {
      if (!this.#history.some(({ sent }) => sent !== undefined)) {
        const { hash = null, nonce } = this.#newest;
        this.means.emit({ type: "sending", hash, nonce });
      }
      return { sent: await this.#send() };
    }
    const replacement = await this.#replace(kind);
    // The journal has it: it is sent later if signing took too long.
    const maySend =
      replacement.kind === "made" &&
      (this.#newest.kind === "cancellation" ||
        isFresh(this.#history.at(-1)?.round, Date.now()));
    return maySend
      ? { replacement, sent: await this.#send() }
      : { replacement };
  }

  async #send(): Promise<SendAnswer> {
    const { rpc, limit } = this.means;
    const late = { kind: "lost", problem: "no answer in time" } as const;
    const sent = send(rpc, this.#newest);
    const answer = (await unlessAborted(sent, limit.signal)) ?? late;
    if (answer.kind === "accepted") {
      await this.#learn({ kind: "pending", hash: answer.hash });
    }
    return answer;
  }

  /** Signs a replacement and writes it to the journal; it is sent only then. */
  async #replace(kind: RequestedReplacement): Promise<Replacement> {
    const { limit, sign, record, emit } = this.means;
    const failed = (
      problem: string,
      how: "failed" | "forbidden" = "failed",
    ): Replacement => ({
      kind: how,
      problem: `the transaction is not ${kind === "bump" ? "replaced at a higher fee" : "cancelled"}: ${problem}`,
    });
    try {
      const signed = await unlessAborted(
        sign(this.#newest, kind),
        limit.signal,
      );
      if (signed === undefined || limit.isOver) {
        return failed(NO_ANSWER);
      }
      if (typeof signed === "string") {
        return failed(signed, "forbidden");
      }
      const transactions = await record([...this.#plan.transactions, signed]);
      if (transactions === undefined) {
        return failed("another process has finished this settlement");
      }
      this.#plan = { ...this.#plan, transactions };
      this.#addHashes(transactions);
      const { hash = "", nonce } = signed;
      emit({ type: "replacing", kind: signed.kind, hash, nonce });
      return { kind: "made", hash };
    } catch (error) {
      return failed(describeProblem(error));
    }
  }

  /** Notes a hash that was not known before. */
  async #learn(found: Sighting["transaction"]): Promise<void> {
    const hash =
      found.kind === "mined" || found.kind === "pending"
        ? found.hash
        : undefined;
    if (hash === undefined || this.#hashes.has(hash)) {
      return;
    }
    this.#hashes.add(hash);
    const newest = this.#newest;
    if (newest.hash !== undefined) {
      this.#warn(
        `the transaction was replaced by ${hash}, which makes the same settlement`,
      );
    }
    this.means.emit({ type: "hash", hash });
    // Signed bytes keep the hash that the journal has.
    if (newest.raw === undefined) {
      const [first, ...others] = this.#plan.transactions;
      const known: SentTransactions = [{ ...first, hash }, ...others];
      this.#plan = { ...this.#plan, transactions: known };
      await this.means.record(known).catch((error: unknown) => {
        this.#warn(describeProblem(error));
      });
    }
  }

  #addHashes(transactions: SentTransactions): void {
    for (const { hash } of transactions) {
      if (hash !== undefined) {
        this.#hashes.add(hash);
      }
    }
  }

  get #newest(): SentTransaction {
    return newestOf(this.#plan);
  }

  #warn(message: string): void {
    this.means.emit({ type: "trouble", message });
  }
}

/** Returns the events of the latest sighting: what is new since the one before. */
function newsOf(
  { confirmations }: Pick<Plan, "confirmations">,
  history: readonly Sighting[],
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

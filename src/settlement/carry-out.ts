import type { RpcClient } from "../rpc/rpc-client.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import type { CheckRound } from "./check-round.js";
import { decide } from "./decide.js";
import { notBumped } from "./endings.js";
import { look, readRound } from "./look.js";
import type { ParsedOptions, RequestedReplacement } from "./options.js";
import type { SignedReplacement } from "./replace.js";
import type { Outcome } from "./result.js";
import { describeProblem, send } from "./send.js";
import type { SendAnswer } from "./send.js";
import { depthOf } from "./sighting.js";
import type { Look, Replacement, RoundSighting, Sighting } from "./sighting.js";
import { step } from "./state.js";
import type { Plan, State } from "./state.js";
import type { TimeLimit } from "./time-limit.js";
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

/** The end of a plan, and what was known of its transactions then. */
export interface CarriedOut {
  readonly outcome: Outcome;
  readonly state: State;
}

/** Looks, and does what is decided, until the end. Never throws. */
export async function carryOut(
  plan: Plan,
  from: State,
  means: Means,
): Promise<CarriedOut> {
  const run = new Run(plan, from, means);
  try {
    return { outcome: await run.toEnd(), state: run.state };
  } catch (error) {
    return { outcome: run.undecided(describeProblem(error)), state: run.state };
  }
}

const FINISHED_BY_OTHER =
  "Another process has finished this settlement, so it is not sent.";

class Run {
  readonly #said = new Set<string>();

  constructor(
    private readonly plan: Plan,
    public state: State,
    private readonly means: Means,
  ) {}

  public async toEnd(): Promise<Outcome> {
    const { limit, firstCheckAfterMs, pollingIntervalMs } = this.means;
    for (;;) {
      const decision = decide(this.plan, this.state, Date.now());
      switch (decision.kind) {
        case "end":
          return decision.outcome;
        case "wait":
          if (this.state.transaction !== undefined) {
            await pause(pollingIntervalMs, limit.signal);
          }
          break;
        case "send":
          if (!(await this.#takeOver())) {
            return this.undecided(FINISHED_BY_OTHER);
          }
          await this.#send();
          await pause(firstCheckAfterMs, limit.signal);
          break;
        default:
          await this.#replace(decision.kind);
          await pause(firstCheckAfterMs, limit.signal);
      }
      await this.#see(await this.#look());
    }
  }

  public undecided(reason: string): Outcome {
    const { hash } = newestOf(this.state);
    return { kind: "undecided", status: "unconfirmed", reason, hash };
  }

  async #look(): Promise<Look> {
    const { rpc, limit, checkRound } = this.means;
    const { transactions, scan, transaction, head } = this.state;
    const seen = await unlessAborted(
      look(rpc, { ...this.plan, transactions }, scan, checkRound),
      limit.signal,
    );
    const nothing = { kind: "unread", problem: NOT_IN_TIME } as const;
    // If the time ends meanwhile, the look before is all that is known.
    const found = seen ?? { transaction: transaction ?? nothing, head };
    return { kind: "look", isOver: limit.isOver, ...found };
  }

  /**
   * Reads the journal again before the first send of a process that took it over.
   *
   * @returns False if another process has finished it.
   */
  async #takeOver(): Promise<boolean> {
    if (!this.plan.isResumed || this.state.sends > 0) {
      return true;
    }
    const { record } = this.means;
    const transactions = await record(this.state.transactions);
    if (transactions !== undefined) {
      await this.#see({ kind: "journal", transactions });
    }
    return transactions !== undefined;
  }

  /** Sends the newest transaction; a settlement only if its round is open just before. */
  async #send(): Promise<void> {
    const { rpc, limit } = this.means;
    const newest = newestOf(this.state);
    if (newest.kind === "settlement") {
      const round = await this.#readRound();
      if (round.kind !== "open") {
        return;
      }
    }
    if (this.state.sends === 0) {
      const { hash = null, nonce } = newest;
      this.means.emit({ type: "sending", hash, nonce });
    }
    const late = { kind: "unanswered", problem: "no answer in time" } as const;
    const sent = await unlessAborted(send(rpc, newest), limit.signal);
    const answer: SendAnswer = sent ?? late;
    await this.#see({ kind: "sent", answer });
    if (answer.kind !== "accepted") {
      this.#warn(problemOf(answer));
    }
  }

  async #readRound(): Promise<RoundSighting> {
    const { checkRound, limit } = this.means;
    const read = await unlessAborted(readRound(checkRound), limit.signal);
    const late = { kind: "unread", problem: NOT_IN_TIME } as const;
    const round = read === undefined || limit.isOver ? late : read;
    await this.#see({ kind: "round", round });
    return round;
  }

  /** Signs a replacement, writes it to the journal, and only then sends it. */
  async #replace(kind: RequestedReplacement): Promise<void> {
    const isSettlement = newestOf(this.state).kind === "settlement";
    if (kind === "bump" && isSettlement) {
      // No higher fee is signed for a round that is over.
      const round = await this.#readRound();
      if (round.kind === "unread") {
        return;
      }
      if (round.kind === "closed") {
        const problem = notBumped(round.obstacle.reason);
        await this.#tried({ kind: "failed", problem });
        return;
      }
    }
    const replacement = await this.#sign(kind);
    await this.#tried(replacement);
    if (replacement.kind === "made") {
      await this.#send();
    }
  }

  async #tried(replacement: Replacement): Promise<void> {
    await this.#see({ kind: "replacement", at: Date.now(), replacement });
    if (replacement.kind !== "made") {
      this.#warnOnce(replacement.problem);
    }
  }

  async #sign(kind: RequestedReplacement): Promise<Replacement> {
    const { limit, sign, record, emit } = this.means;
    const failed = (
      problem: string,
      how: "declined" | "failed" | "forbidden" = "failed",
    ) => ({
      kind: how,
      problem:
        kind === "bump"
          ? notBumped(problem)
          : `the transaction is not cancelled: ${problem}`,
    });
    try {
      const signed = await unlessAborted(
        sign(newestOf(this.state), kind),
        limit.signal,
      );
      if (signed === undefined || limit.isOver) {
        return failed(NOT_IN_TIME);
      }
      if (signed.kind !== "signed") {
        return failed(signed.problem, signed.kind);
      }
      const { transaction } = signed;
      const { hash, nonce } = transaction;
      const transactions = await record([
        ...this.state.transactions,
        transaction,
      ]);
      if (transactions === undefined) {
        return failed("another process has finished this settlement");
      }
      await this.#see({ kind: "journal", transactions });
      emit({ type: "replacing", kind: transaction.kind, hash, nonce });
      return { kind: "made", hash };
    } catch (error) {
      return failed(describeProblem(error));
    }
  }

  /** Takes a sighting in, tells what is new, and notes a hash that the journal lacks. */
  async #see(sighting: Sighting): Promise<void> {
    const before = this.state;
    this.state = step(before, sighting);
    if (sighting.kind !== "journal") {
      await this.#noteHash(before, this.state);
    }
    if (sighting.kind === "look" || sighting.kind === "round") {
      newsOf(this.plan, before, this.state).forEach(this.means.emit);
    }
  }

  async #noteHash(before: State, after: State): Promise<void> {
    const { emit, record } = this.means;
    for (const hash of after.hashes.slice(before.hashes.length)) {
      if (newestOf(before).hash !== undefined) {
        this.#warn(
          `the transaction was replaced by ${hash}, which makes the same settlement`,
        );
      }
      emit({ type: "hash", hash });
    }
    if (after.transactions !== before.transactions) {
      await record(after.transactions).catch((error: unknown) => {
        this.#warn(describeProblem(error));
      });
    }
  }

  #warn(message: string): void {
    this.means.emit({ type: "trouble", message });
  }

  #warnOnce(message: string): void {
    if (!this.#said.has(message)) {
      this.#said.add(message);
      this.#warn(message);
    }
  }
}

function problemOf(answer: Exclude<SendAnswer, { kind: "accepted" }>): string {
  const { kind, problem } = answer;
  switch (kind) {
    case "refused":
      return `the node answered the transaction with an error (${problem}); looking for it`;
    case "unanswered":
      return `the answer to sending was lost (${problem}); looking for the transaction`;
    case "failed":
      return `the transaction may not have left this process (${problem}); looking for it`;
  }
}

/** Returns the events of what is new in a state. */
export function newsOf(
  { confirmations }: Pick<Plan, "confirmations">,
  before: State,
  now: State,
): readonly SettlementEvent[] {
  const events: SettlementEvent[] = [];
  const warn = (message: string): void => {
    events.push({ type: "trouble", message });
  };
  if (now.round?.kind === "unread" && before.round?.kind !== "unread") {
    warn(now.round.problem);
  }
  const { transaction: is } = now;
  if (is === undefined || is === before.transaction) {
    return events;
  }
  if (is.kind === "unread") {
    // A look that failed changes nothing.
    if (before.transaction?.kind !== "unread") {
      warn(is.problem);
    }
    return events;
  }
  const was = before.known;
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
  const countAt = ({ head }: State): number =>
    Math.min(depthOf(blockNumber, head), confirmations);
  if (confirmations > 1 && (!isKnown || countAt(now) > countAt(before))) {
    const [count, wanted] = [countAt(now), confirmations];
    events.push({ type: "confirmed", hash, confirmations: count, wanted });
  }
  return events;
}

import { VaultError, vaultError } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import { isUnanswered } from "../rpc/errors.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import { look, refusedBy } from "./outcome.js";
import type { Outcome, Seen, Sought, Stopped } from "./outcome.js";
import type { RequestedReplacement, SignedReplacement } from "./replace.js";
import { describeProblem, newestOf, send } from "./transaction.js";
import type {
  SendAnswer,
  SentTransaction,
  SentTransactions,
} from "./transaction.js";

/** The time that a settlement may take. */
export class TimeLimit {
  public readonly signal: AbortSignal;
  readonly #end: number;
  /** Node.js 22 collects a deadline that only `AbortSignal.any()` refers to. */
  readonly #signals: readonly AbortSignal[];

  /** @param others Signals that end it, too. */
  constructor(milliseconds: number, others: readonly AbortSignal[] = []) {
    this.#signals = [AbortSignal.timeout(Math.ceil(milliseconds)), ...others];
    this.signal = AbortSignal.any([...this.#signals]);
    this.#end = performance.now() + milliseconds;
  }

  /** Milliseconds. */
  public get remaining(): number {
    return Math.max(0, this.#end - performance.now());
  }

  public get isOver(): boolean {
    return this.signal.aborted || this.remaining === 0;
  }
}

export type SendingEvent =
  /** Sends a transaction, or follows an interrupted one. Null: not known yet. */
  | {
      readonly type: "sending" | "resuming";
      readonly hash: Hex | null;
      readonly nonce: number;
    }
  /** Sends another transaction with the nonce of the one that is not mined. */
  | {
      readonly type: "replacing";
      readonly kind: "settlement" | "cancellation";
      readonly hash: Hex;
      readonly nonce: number;
    }
  | { readonly type: "hash"; readonly hash: Hex }
  | {
      readonly type: "mined";
      readonly hash: Hex;
      readonly blockNumber: number;
    }
  /** One more confirmation, if `confirmations` is more than 1. */
  | {
      readonly type: "confirmed";
      readonly hash: Hex;
      readonly confirmations: number;
      readonly wanted: number;
    }
  /** Problem that does not end the settlement. */
  | { readonly type: "trouble"; readonly message: string };

/** What is to be mined, by which rules, and the journal. */
export interface Job extends Sought {
  /** Oldest first; the newest is sent. */
  readonly transactions: SentTransactions;
  /** True if another process may have sent one of them: they are looked for first. */
  readonly isResumed: boolean;
  readonly limit: TimeLimit;
  readonly pollingIntervalMs: number;
  readonly emit: (event: SendingEvent) => void;
  /**
   * Writes the transactions to the journal. Undefined without one: what the node refuses is
   * then given up.
   *
   * @returns False if another process has finished the settlement, or added one.
   */
  readonly record?: (transactions: SentTransactions) => Promise<boolean>;
  /** Undefined if no other transaction may take the nonce. */
  readonly replacing?: Replacing | undefined;
}

export interface Replacing {
  /** What a person asks for. */
  readonly requested?: RequestedReplacement | undefined;
  /** Milliseconds; undefined: fees are never raised without a request. */
  readonly timeBeforeBumpingFees?: number | undefined;
  readonly maxFeeBumps: number;
  readonly sign: (
    newest: SentTransaction,
    kind: RequestedReplacement,
  ) => Promise<SignedReplacement>;
}

type Decision = Outcome | RequestedReplacement | "look" | "send";

/** Looks between two sends of the same bytes, or two tries to replace them. */
const LOOKS_BETWEEN_TRIES = 2;
/** A node that mines at once has done so by then. */
const SECOND_LOOK_MS = 100;
/** Looks after which a transaction without signed bytes counts as lost. */
const LOOKS_UNTIL_LOST = 7;
const NOT_IN_TIME = "the node did not answer in time";
const OF_ANOTHER =
  "another process goes on with this settlement, or has finished it";

/**
 * Follows transactions from the moment at which the journal has them: it looks at the
 * chain, decides, and acts, until the chain has decided or the time is over. After a failure
 * it looks; it signs nothing again. All decisions are in `#decide`.
 */
export class Following {
  public transactions: SentTransactions;
  /** What the newest look that had an answer showed. */
  #known: Seen | undefined;
  /** True once one of them may have left this process, or another one. */
  #mayHaveLeft: boolean;
  /** True once this process sent one of them. */
  #hasSent = false;
  /** To the newest transaction; undefined if it was not sent here. */
  #answer: SendAnswer | undefined;
  /** Looks in a row that showed the same, since the last try to send or to replace. */
  #looks = LOOKS_BETWEEN_TRIES;
  /** Unix milliseconds of the last try to replace. */
  #replacedAt = 0;
  /** Why the last try to replace failed. */
  #notReplaced: string | undefined;
  readonly #troubles = new Set<string>();

  constructor(private readonly job: Job) {
    this.transactions = job.transactions;
    this.#mayHaveLeft = job.isResumed;
  }

  /** Never throws. Called again, it looks again: a re-org may have moved the end. */
  public async toEnd(): Promise<Outcome> {
    try {
      return await this.#toEnd();
    } catch (error) {
      return this.#undecided(describeProblem(error));
    }
  }

  async #toEnd(): Promise<Outcome> {
    const { limit, isResumed, pollingIntervalMs } = this.job;
    const isNew = this.#known === undefined;
    let decision: Decision = isNew && !isResumed ? "send" : "look";
    let wait = isNew ? 0 : pollingIntervalMs;
    while (typeof decision === "string") {
      if (decision === "look") {
        await pause(wait, limit.signal);
        wait = pollingIntervalMs;
      } else {
        this.#looks = 0;
        const end =
          decision === "send"
            ? await this.#send()
            : await this.#replace(decision);
        if (end !== undefined) {
          return end;
        }
        // The next look is at once.
        wait = Math.min(SECOND_LOOK_MS, pollingIntervalMs);
      }
      const looking = look(this.job, this.transactions, this.#known);
      // If the time ends meanwhile, the look before is all that is known.
      const seen = (await unlessAborted(looking, limit.signal)) ??
        this.#known ?? { kind: "unread", text: NOT_IN_TIME };
      await this.#take(seen);
      decision = this.#decide(seen);
    }
    return decision;
  }

  get #newest(): SentTransaction {
    return newestOf(this);
  }

  /** The whole table of what a look leads to. */
  #decide(seen: Seen): Decision {
    const { confirmations, limit, replacing, record, isResumed } = this.job;
    const { kind, hash, raw } = this.#newest;
    const answer = this.#answer;
    const isUnsent = !this.#mayHaveLeft && answer === undefined;
    const mayTry = this.#looks >= LOOKS_BETWEEN_TRIES;
    // It is mined for good.
    if (seen.kind === "mined" && seen.depth >= confirmations) {
      return seen;
    }
    // Another one is, with its nonce.
    if (seen.kind === "replaced" && seen.depth >= confirmations) {
      const reason = `It was replaced: ${seen.text}, so it can never be mined.`;
      return { ...this.#undecided(reason), kind: "dropped" };
    }
    if (limit.isOver) {
      return isUnsent ? this.#neverSent(seen) : this.#timeIsOver(seen);
    }
    if (seen.kind !== "pending" && seen.kind !== "absent") {
      return "look";
    }
    // A person asks for it, whatever the round is.
    if (replacing?.requested === "cancel" && kind === "settlement") {
      return "cancel";
    }
    if (seen.kind === "absent") {
      // It did not leave this process; a plugin may have sent it, so a node has time to show it.
      if (answer?.kind === "failed" && !this.#mayHaveLeft) {
        return mayTry ? refusedBy(answer.error) : "look";
      }
      // No journal keeps it for another try.
      if (answer?.kind === "refused" && record === undefined) {
        const what = hash ?? "the transaction";
        return this.#undecided(`The node refused ${what}: ${answer.problem}`);
      }
      if (seen.error !== undefined) {
        return isUnsent && isLasting(seen.error)
          ? refusedBy(seen.error)
          : "look";
      }
      if (seen.obstacle !== undefined) {
        return isUnsent ? seen.obstacle : this.#roundIsClosed(seen.obstacle);
      }
      // Nobody can send it again.
      const isLost = isResumed || answer?.kind === "refused";
      if (raw === undefined && isLost && this.#looks >= LOOKS_UNTIL_LOST) {
        return this.#lost();
      }
    }
    if (this.#isBumpDue()) {
      return "bump";
    }
    const mayBeSent =
      seen.kind === "absent"
        ? // A person may have to approve each send, and a node that signs may choose another
          // nonce: without signed bytes, it is sent once.
          raw !== undefined || isUnsent
        : // An earlier one waits, and the node did not accept the newest.
          this.transactions.length > 1 &&
          seen.hash !== hash &&
          answer?.kind !== "accepted";
    return mayTry && mayBeSent ? "send" : "look";
  }

  #isBumpDue(): boolean {
    const { job, transactions } = this;
    const { requested, timeBeforeBumpingFees, maxFeeBumps } =
      job.replacing ?? {};
    const { raw, preparedAt } = this.#newest;
    if (requested === "bump") {
      return transactions.length === job.transactions.length;
    }
    return (
      timeBeforeBumpingFees !== undefined &&
      raw !== undefined &&
      transactions.length - 1 < (maxFeeBumps ?? 0) &&
      // One that failed is tried again after as long: a person may have to sign it.
      Date.now() - Math.max(this.#replacedAt, preparedAt) >=
        timeBeforeBumpingFees
    );
  }

  #undecided(reason: string) {
    const { hash } = this.#newest;
    return { kind: "undecided", status: "unconfirmed", reason, hash } as const;
  }

  /** The node has none of the transactions, which may have left, and the round is not to be settled. */
  #roundIsClosed(obstacle: Stopped): Decision {
    const { hash, from, nonce } = this.#newest;
    const reason = `${obstacle.reason} The node does not have the transaction that was sent before, and it is not sent again.`;
    if (this.#hasSent) {
      // It may be on its way. A node that is behind may show a round that has not ended.
      return obstacle.isEarly === true ? "look" : this.#undecided(reason);
    }
    // What another process sent has had its time.
    const next = `Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`;
    return { ...obstacle, kind: "dropped", hash, reason: `${reason} ${next}` };
  }

  #lost(): Outcome {
    const { hash, from, nonce } = this.#newest;
    const { code, message: reason } =
      this.#answer?.kind === "refused"
        ? {
            code: "VAULT_RPC_ERROR" as const,
            message: `The node does not have the transaction, and answered it with an error: ${this.#answer.problem}`,
          }
        : vaultError("VAULT_SETTLEMENT_LOST", { from, nonce });
    return { kind: "dropped", status: "refused", code, reason, hash };
  }

  #neverSent(seen: Seen): Stopped {
    const { network } = this.job.rpc;
    const error = seen.kind === "absent" ? seen.error : undefined;
    const { code, shortMessage } = VaultError.isVaultError(error)
      ? error
      : vaultError("VAULT_RPC_TIMEOUT", { network, method: "eth_call" });
    const reason = `The round could not be read in time, so nothing was sent: ${shortMessage}`;
    return { kind: "stopped", status: "refused", code, reason };
  }

  #timeIsOver(seen: Seen): Outcome {
    const { confirmations } = this.job;
    const { hash, from, nonce } = this.#newest;
    const answer = this.#answer;
    const problems = [
      "depth" in seen
        ? `${seen.text}, with ${seen.depth} of ${confirmations} confirmations`
        : seen.text,
      (seen.kind === "absent" || seen.kind === "unread") &&
      answer !== undefined &&
      "problem" in answer
        ? `sending it failed: ${answer.problem}`
        : undefined,
      this.#notReplaced,
    ]
      .filter((problem) => problem !== undefined)
      .map((problem) => problem.replace(/\.$/u, ""));
    const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
    const reason = `The time is over for ${what} of ${from} with nonce ${nonce}: ${problems.join("; ")}.`;
    return {
      ...this.#undecided(reason),
      // The pool or a block may have an older one than the newest.
      ...("hash" in seen && { hash: seen.hash }),
      ...(seen.kind === "mined" && { receipt: seen.receipt }),
    };
  }

  /** Sends the newest transaction; a settlement only if its round is open just before. */
  async #send(): Promise<Outcome | undefined> {
    const { emit, limit, rpc, record } = this.job;
    const { hash = null, nonce, kind } = this.#newest;
    // Another process may have taken the journal over before the first send.
    if (!this.#hasSent && (await record?.(this.transactions)) === false) {
      return this.#undecided(`It is not sent: ${OF_ANOTHER}.`);
    }
    if (kind === "settlement" && (await this.#findObstacle()) !== undefined) {
      return undefined;
    }
    if (!this.#hasSent) {
      emit({ type: "sending", hash, nonce });
    }
    const sending = send(rpc, this.#newest);
    const answer = (await unlessAborted(sending, limit.signal)) ?? {
      kind: "unanswered",
      problem: "no answer in time",
    };
    this.#answer = answer;
    this.#hasSent = true;
    this.#mayHaveLeft ||= answer.kind !== "failed";
    if (answer.kind === "accepted") {
      await this.#note(answer.hash);
    } else {
      const what = {
        refused: "the node answered the transaction with an error",
        unanswered: "the answer to sending was lost",
        failed: "the transaction may not have left this process",
      }[answer.kind];
      this.#warn(`${what} (${answer.problem}); looking for the transaction`);
    }
    return undefined;
  }

  /** @returns Why the round is not to be settled now, or that it cannot be read. */
  async #findObstacle(): Promise<string | undefined> {
    const { checkRound, limit } = this.job;
    const reading = checkRound().then((why) => why?.reason, describeProblem);
    const obstacle = await unlessAborted(reading, limit.signal);
    return limit.isOver ? NOT_IN_TIME : obstacle;
  }

  /**
   * Signs a replacement, writes it to the journal, and only then sends it.
   *
   * @returns The end if it is not made, and a person asked for it.
   */
  async #replace(kind: RequestedReplacement): Promise<Outcome | undefined> {
    const problem = await this.#makeReplacement(kind).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (problem === undefined) {
      this.#notReplaced = undefined;
      this.#answer = undefined;
      return await this.#send();
    }
    const what =
      kind === "bump"
        ? "the transaction is not replaced at a higher fee"
        : "the transaction is not cancelled";
    this.#notReplaced = `${what}: ${problem}`;
    this.#warn(this.#notReplaced);
    return this.job.replacing?.requested === undefined
      ? undefined
      : this.#undecided(`It is not mined yet, and ${this.#notReplaced}`);
  }

  /** @returns Why there is none. */
  async #makeReplacement(
    kind: RequestedReplacement,
  ): Promise<string | undefined> {
    const { replacing, record, emit, limit } = this.job;
    // No higher fee is signed for a round that is over, or that cannot be read.
    const obstacle =
      kind === "bump" && this.#newest.kind === "settlement"
        ? await this.#findObstacle()
        : undefined;
    if (obstacle !== undefined) {
      return obstacle;
    }
    const signing = replacing?.sign(this.#newest, kind).finally(() => {
      this.#replacedAt = Date.now();
    });
    const signed = await unlessAborted(Promise.resolve(signing), limit.signal);
    if (signed === undefined || limit.isOver) {
      return NOT_IN_TIME;
    }
    const all: SentTransactions = [...this.transactions, signed];
    if ((await record?.(all)) === false) {
      return OF_ANOTHER;
    }
    this.transactions = all;
    const { hash, nonce } = signed;
    emit({ type: "replacing", kind: signed.kind, hash, nonce });
    return undefined;
  }

  /** Keeps a hash that the journal lacks. */
  async #note(hash: Hex | undefined): Promise<void> {
    const { transactions, job } = this;
    if (hash === undefined || transactions.some((one) => one.hash === hash)) {
      return;
    }
    if (this.#newest.hash !== undefined) {
      // A wallet raised its fees, or another process.
      this.#warn(
        `the transaction was replaced by ${hash}, which makes the same settlement`,
      );
      return;
    }
    job.emit({ type: "hash", hash });
    this.transactions = [{ ...this.#newest, hash }];
    await job.record?.(this.transactions).catch((error: unknown) => {
      this.#warn(describeProblem(error));
    });
  }

  /** Takes a look in, and tells what is new since the one before. */
  async #take(seen: Seen): Promise<void> {
    const was = this.#known;
    if (seen.kind === "unread") {
      // A look that failed changes nothing.
      this.#warn(seen.text);
      return;
    }
    const isSame = was === undefined || was.kind === seen.kind;
    this.#looks = isSame ? this.#looks + 1 : 1;
    this.#known = seen;
    this.#mayHaveLeft ||= seen.kind !== "absent";
    if (seen.kind === "absent" && seen.error !== undefined) {
      this.#warn(describeProblem(seen.error));
    }
    if ("hash" in seen) {
      await this.#note(seen.hash);
    }
    this.#tell(was, seen);
  }

  #tell(was: Seen | undefined, is: Seen): void {
    const { confirmations, emit } = this.job;
    const earlier = was?.kind === "mined" ? was : undefined;
    const isStill =
      is.kind === "mined" &&
      is.receipt.blockHash === earlier?.receipt.blockHash;
    if (earlier !== undefined && !isStill) {
      const { blockNumber } = earlier.receipt;
      this.#warn(`a re-org took the transaction out of block ${blockNumber}`);
    }
    if (
      is.kind === "absent" &&
      (was?.kind === "pending" || was?.kind === "mined")
    ) {
      this.#warn("the node dropped the transaction");
    }
    if (is.kind !== "mined") {
      return;
    }
    const {
      hash,
      receipt: { blockNumber },
    } = is;
    if (!isStill) {
      emit({ type: "mined", hash, blockNumber });
    }
    const told = isStill ? Math.min(earlier.depth, confirmations) : 0;
    const count = Math.min(is.depth, confirmations);
    if (confirmations > 1 && count > told) {
      emit({
        type: "confirmed",
        hash,
        confirmations: count,
        wanted: confirmations,
      });
    }
  }

  /** Each trouble is told once. */
  #warn(message: string): void {
    if (!this.#troubles.has(message)) {
      this.#troubles.add(message);
      this.job.emit({ type: "trouble", message });
    }
  }
}

/** True if another try to read would fail, too. */
function isLasting(error: unknown): error is VaultError {
  return VaultError.isVaultError(error) && !isUnanswered(error);
}

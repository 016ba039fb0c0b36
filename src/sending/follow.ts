import { VaultError, hasErrorCode, vaultError } from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { refusedBy } from "../guard/outcome.js";
import type { Stopped } from "../guard/outcome.js";
import type { Hex } from "../protocol/index.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import type { Receipt } from "../rpc/transactions.js";
import { Lookout } from "./look.js";
import type { Mined, RoundSeen, Seen, Sought } from "./look.js";
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

/** End of a settlement: before anything was sent, or with its transactions. */
export type Outcome =
  | Stopped
  | Mined
  | {
      /** `undecided`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "undecided";
      readonly status: Stopped["status"] | "unconfirmed";
      readonly code?: VaultErrorCode | undefined;
      readonly reason: string;
      readonly hash: Hex | undefined;
      readonly receipt?: Receipt | undefined;
    };

/** What is to be mined, by which rules, and the journal. */
export interface Job extends Sought {
  /** Oldest first; the newest is sent. */
  readonly transactions: SentTransactions;
  /** True if another process may have sent one of them: they are looked for first. */
  readonly isResumed: boolean;
  readonly limit: TimeLimit;
  readonly pollingIntervalMs: number;
  /** Time for a node to mine or queue an accepted transaction. */
  readonly firstCheckAfterMs: number;
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
/** Looks after which a transaction without signed bytes counts as lost. */
const LOOKS_UNTIL_LOST = 5;
const NOT_IN_TIME = "the node did not answer in time";
const OF_ANOTHER =
  "another process goes on with this settlement, or has finished it";

/**
 * Follows transactions from the moment at which the journal has them: it looks at the
 * chain, decides, and acts, until the chain has decided or the time is over. After a failure
 * it looks; it signs nothing again. By the newest look:
 *
 * - mined, with enough confirmations: the end.
 * - another transaction used the nonce, with enough confirmations: the end.
 * - the time is over: the end; stopped if nothing has left, else open, to be resumed.
 * - a person declined a replacement: open.
 * - pending, a replacement due: replace.
 * - pending an older one of ours, the newest not accepted: send.
 * - absent, the round closed, the nonce free: stopped if nothing was sent, open if it was
 *   sent here, else released: the next transaction has the same nonce.
 * - absent, the round open: send every second look; without signed bytes never twice, and
 *   lost after five.
 * - absent, the round unread; pending; not deep yet; unread: look.
 */
export class Following {
  public transactions: SentTransactions;
  /** Every hash that they had, oldest first. */
  public hashes: readonly Hex[];
  readonly #lookout: Lookout;
  /** By the newest look that had an answer. */
  #known: Seen | undefined;
  /** True once a look found one of them, or another with their nonce. */
  #wasSeen = false;
  /** Of this process; the bytes are the same each time. */
  #sends = 0;
  /** To the newest transaction; undefined if it was not sent here. */
  #answer: SendAnswer | undefined;
  /** Looks since the last try to send or to replace. */
  #looks = Infinity;
  /** Looks in a row that found nothing, since the last send. */
  #absent = 0;
  /** Unix milliseconds of the last try to replace. */
  #replacedAt = 0;
  /** Until it is made, or forbidden. */
  #requested: RequestedReplacement | undefined;
  /** Why the last replacement was not made. */
  #notReplaced: string | undefined;
  #isDeclined = false;
  readonly #troubles = new Set<string>();

  constructor(private readonly job: Job) {
    this.transactions = job.transactions;
    this.hashes = job.transactions.flatMap(({ hash }) => hash ?? []);
    this.#lookout = new Lookout(job);
    this.#requested = job.replacing?.requested;
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
    const { limit, pollingIntervalMs, firstCheckAfterMs, isResumed, record } =
      this.job;
    const isNew = this.#known === undefined;
    let decision: Decision = isNew && !isResumed ? "send" : "look";
    let wait = isNew ? 0 : pollingIntervalMs;
    while (typeof decision === "string") {
      if (decision === "look") {
        await pause(wait, limit.signal);
      } else {
        // A process that took the journal over reads it again before its first send.
        const takesOver = decision === "send" && isResumed && this.#sends === 0;
        if (takesOver && (await record?.(this.transactions)) === false) {
          return this.#undecided(`It is not sent: ${OF_ANOTHER}.`);
        }
        await (decision === "send" ? this.#send() : this.#replace(decision));
        await pause(firstCheckAfterMs, limit.signal);
      }
      wait = pollingIntervalMs;
      const looking = this.#lookout.look(this.transactions);
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

  /** True if this process made it and has not sent it yet, and no look found it. */
  get #isUnsent(): boolean {
    return !this.job.isResumed && this.#sends === 0 && !this.#wasSeen;
  }

  #decide(seen: Seen): Decision {
    const { confirmations, limit, isResumed, replacing } = this.job;
    const { hash, from, nonce, kind, raw } = this.#newest;
    if (seen.kind === "mined" && seen.depth >= confirmations) {
      return seen;
    }
    if (seen.kind === "replaced" && seen.depth >= confirmations) {
      if (seen.isPruned === true) {
        const reason = `Nonce ${nonce} of ${from} is used, and the node has pruned the blocks' state: by which transaction could not be seen. No transaction with it can be mined any more.`;
        return { ...this.#undecided(reason), kind: "dropped" };
      }
      const user =
        seen.by === undefined
          ? `no transaction of ${from} has its nonce ${nonce}, which is used (an EIP-7702 authorization uses one, too)`
          : `transaction ${seen.by} of ${from} used its nonce ${nonce}`;
      const reason = `It was replaced: ${user}, so it can never be mined.`;
      return { ...this.#undecided(reason), kind: "dropped" };
    }
    if (limit.isOver) {
      return this.#isUnsent ? this.#neverSent(seen) : this.#timeIsOver(seen);
    }
    if (this.#isDeclined) {
      return this.#undecided(`It is not mined yet, and ${this.#notReplaced}`);
    }
    if (seen.kind !== "pending" && seen.kind !== "absent") {
      return "look";
    }
    const mayTry = this.#looks >= LOOKS_BETWEEN_TRIES;
    if (this.#requested === "cancel" && kind === "settlement") {
      return mayTry ? "cancel" : "look";
    }
    const end = seen.kind === "absent" ? this.#endOf(seen.round) : undefined;
    if (end !== undefined) {
      return end;
    }
    if (seen.kind === "absent" && seen.round.kind !== "open") {
      return "look";
    }
    if (mayTry && this.#isBumpDue()) {
      return "bump";
    }
    // A person may have to approve each send, and a node that signs may choose another nonce.
    const mayBeSent =
      seen.kind === "absent"
        ? raw !== undefined || (this.#sends === 0 && !isResumed)
        : this.#answer?.kind !== "accepted" &&
          this.transactions.length > 1 &&
          seen.hash !== hash;
    // Also if it cannot be cancelled.
    const isUnwanted =
      replacing?.requested === "cancel" && kind === "settlement";
    const isDue = mayTry || this.#sends === 0;
    return isDue && mayBeSent && !isUnwanted ? "send" : "look";
  }

  /** The end of what the node does not have, unless a later look may find more. */
  #endOf(round: RoundSeen): Outcome | undefined {
    const { isResumed, record } = this.job;
    const { hash, from, nonce, raw } = this.#newest;
    const answer = this.#answer;
    const isFirst = this.#sends === 1 && !isResumed && !this.#wasSeen;
    if (answer?.kind === "failed" && isFirst) {
      return refusedBy(answer.error);
    }
    const problem = answer?.kind === "refused" ? answer.problem : undefined;
    if (problem !== undefined && record === undefined) {
      return this.#undecided(
        `The node refused ${hash ?? "the transaction"}: ${problem}`,
      );
    }
    if (round.kind === "unread") {
      const { error } = round;
      // The same question may have an answer the next time.
      const mayBeRead =
        !VaultError.isVaultError(error) ||
        hasErrorCode(error, "VAULT_RPC_TIMEOUT", "VAULT_NETWORK_UNREACHABLE");
      return mayBeRead || !this.#isUnsent ? undefined : refusedBy(error);
    }
    if (round.kind === "closed") {
      const { why, isNonceFree } = round;
      // The node that was asked may be behind, or the round may end soon.
      const mayOpen = why.isEarly === true && this.#sends > 0;
      if (!isNonceFree || mayOpen || this.#isUnsent) {
        return isNonceFree && !mayOpen ? why : undefined;
      }
      const reason = `${why.reason} The node does not have the transaction that was sent before, and it is not sent again.`;
      return this.#sends > 0
        ? this.#undecided(reason)
        : {
            ...why,
            kind: "dropped",
            hash,
            reason: `${reason} Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`,
          };
    }
    const mayBeLate = problem === undefined && !isResumed;
    if (raw !== undefined || mayBeLate || this.#absent < LOOKS_UNTIL_LOST) {
      return undefined;
    }
    const { code, message } =
      problem === undefined
        ? vaultError("VAULT_SETTLEMENT_LOST", { from, nonce })
        : {
            code: "VAULT_RPC_ERROR" as const,
            message: `The node does not have the transaction, and answered it with an error: ${problem}`,
          };
    return { kind: "dropped", status: "refused", code, reason: message, hash };
  }

  #isBumpDue(): boolean {
    const { timeBeforeBumpingFees, maxFeeBumps = 0 } = this.job.replacing ?? {};
    const { raw, preparedAt } = this.#newest;
    return (
      this.#requested === "bump" ||
      (timeBeforeBumpingFees !== undefined &&
        raw !== undefined &&
        this.transactions.length - 1 < maxFeeBumps &&
        // One that failed is tried again after as long: a person may have to sign it.
        Date.now() - Math.max(this.#replacedAt, preparedAt) >=
          timeBeforeBumpingFees)
    );
  }

  #undecided(reason: string) {
    const { hash } = this.#newest;
    return { kind: "undecided", status: "unconfirmed", reason, hash } as const;
  }

  #neverSent(seen: Seen): Stopped {
    const { network } = this.job.rpc;
    const error =
      seen.kind === "absent" && seen.round.kind === "unread"
        ? seen.round.error
        : undefined;
    const { code, shortMessage } = VaultError.isVaultError(error)
      ? error
      : vaultError("VAULT_RPC_TIMEOUT", { network, method: "eth_call" });
    const reason = `The round could not be read in time, so nothing was sent: ${shortMessage}`;
    return { kind: "stopped", status: "refused", code, reason };
  }

  #timeIsOver(seen: Seen): Outcome {
    const { hash, from, nonce } = this.#newest;
    const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
    const more = seen.kind === "absent" ? this.#whyAbsent(seen.round) : "";
    const problems = [`${seen.text}${more}`, this.#notReplaced ?? []]
      .flat()
      .map((problem) => problem.replace(/\.$/u, ""));
    const reason = `The time is over for ${what} of ${from} with nonce ${nonce}: ${problems.join("; ")}.`;
    return {
      ...this.#undecided(reason),
      // The pool or a block may have an older one than the newest.
      ...("hash" in seen && { hash: seen.hash }),
      ...(seen.kind === "mined" && { receipt: seen.receipt }),
    };
  }

  #whyAbsent(round: RoundSeen): string {
    switch (round.kind) {
      case "unread":
        return `, and it could not be sent again: ${describeProblem(round.error)}`;
      case "closed":
        return round.why.isEarly === true
          ? `, and it is not sent again: ${round.why.reason}`
          : ", though it may be what settled the round";
      case "open":
        return this.#answer === undefined || this.#answer.kind === "accepted"
          ? ""
          : `, and sending it failed: ${this.#answer.problem}`;
    }
  }

  /** Sends the newest transaction; a settlement only if its round is open just before. */
  async #send(): Promise<void> {
    const { emit, limit, rpc } = this.job;
    const { hash = null, nonce, kind } = this.#newest;
    this.#looks = 0;
    if (kind === "settlement" && (await this.#readRound()).kind !== "open") {
      return;
    }
    if (this.#sends === 0) {
      emit({ type: "sending", hash, nonce });
    }
    const sending = send(rpc, this.#newest);
    const answer = (await unlessAborted(sending, limit.signal)) ?? {
      kind: "unanswered",
      problem: "no answer in time",
    };
    this.#answer = answer;
    this.#sends += 1;
    this.#absent = 0;
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
  }

  /** What cannot be read in time is unread. */
  async #readRound(): Promise<RoundSeen> {
    const { limit } = this.job;
    const reading = this.#lookout.readRound();
    const read = await unlessAborted(reading, limit.signal);
    if (read === undefined || limit.isOver) {
      this.#warn(NOT_IN_TIME);
      return { kind: "unread", error: undefined };
    }
    if (read.kind === "unread") {
      this.#warn(describeProblem(read.error));
    }
    return read;
  }

  /** Signs a replacement, writes it to the journal, and only then sends it. */
  async #replace(kind: RequestedReplacement): Promise<void> {
    this.#looks = 0;
    // No higher fee is signed for a round that is over, or that cannot be read.
    const round: RoundSeen =
      kind === "bump" && this.#newest.kind === "settlement"
        ? await this.#readRound()
        : { kind: "open" };
    if (round.kind === "unread") {
      return;
    }
    const problem =
      round.kind === "closed"
        ? round.why.reason
        : await this.#makeReplacement(kind).catch(describeProblem);
    this.#replacedAt = Date.now();
    if (problem === undefined) {
      this.#notReplaced = undefined;
      this.#answer = undefined;
      await this.#send();
      return;
    }
    const what =
      kind === "bump"
        ? "the transaction is not replaced at a higher fee"
        : "the transaction is not cancelled";
    this.#notReplaced = `${what}: ${problem}`;
    this.#warn(this.#notReplaced);
  }

  /** @returns Why there is none. */
  async #makeReplacement(
    kind: RequestedReplacement,
  ): Promise<string | undefined> {
    const { replacing, record, emit, limit } = this.job;
    const signing = replacing?.sign(this.#newest, kind);
    const signed = await unlessAborted(Promise.resolve(signing), limit.signal);
    if (signed === undefined || limit.isOver) {
      return NOT_IN_TIME;
    }
    if ("problem" in signed) {
      this.#requested = undefined;
      this.#isDeclined = signed.isDeclined;
      return signed.problem;
    }
    const all: SentTransactions = [...this.transactions, signed];
    if ((await record?.(all)) === false) {
      return OF_ANOTHER;
    }
    this.#requested = undefined;
    this.transactions = all;
    this.hashes = [...this.hashes, signed.hash];
    const { hash, nonce } = signed;
    emit({ type: "replacing", kind: signed.kind, hash, nonce });
    return undefined;
  }

  /** Keeps a hash that the journal lacks: a wallet may change it. */
  async #note(hash: Hex | undefined): Promise<void> {
    if (hash === undefined || this.hashes.includes(hash)) {
      return;
    }
    if (this.#newest.hash !== undefined) {
      this.#warn(
        `the transaction was replaced by ${hash}, which makes the same settlement`,
      );
    }
    this.hashes = [...this.hashes, hash];
    this.job.emit({ type: "hash", hash });
    if (this.#newest.raw === undefined) {
      const [first, ...others] = this.transactions;
      this.transactions = [{ ...first, hash }, ...others];
      await this.job.record?.(this.transactions).catch((error: unknown) => {
        this.#warn(describeProblem(error));
      });
    }
  }

  /** Takes a look in, and tells what is new since the one before. */
  async #take(seen: Seen): Promise<void> {
    const was = this.#known;
    this.#looks += 1;
    if (seen.kind === "unread") {
      // A look that failed changes nothing.
      this.#warn(seen.text);
      return;
    }
    this.#known = seen;
    if (seen.kind === "absent") {
      this.#absent += 1;
      if (seen.round.kind === "unread") {
        this.#warn(describeProblem(seen.round.error));
      }
    } else {
      this.#absent = 0;
      this.#wasSeen = true;
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

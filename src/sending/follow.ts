import { vaultError } from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import type { Receipt } from "../rpc/transactions.js";
import { refusedBy } from "../guard/outcome.js";
import type { Stopped } from "../guard/outcome.js";
import { Lookout, readRound } from "./look.js";
import type { Mined, RoundSeen, Seen, Sought } from "./look.js";
import type { RequestedReplacement, SignedReplacement } from "./replace.js";
import { describeProblem, send } from "./send.js";
import type { SendAnswer } from "./send.js";
import type { TimeLimit } from "./time-limit.js";
import { newestOf } from "./transaction.js";
import type { SentTransaction, SentTransactions } from "./transaction.js";

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
  | (Reason & {
      /** `undecided`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "undecided";
      readonly hash: Hex | undefined;
      readonly receipt?: Receipt | undefined;
    });

interface Reason {
  readonly status: Stopped["status"] | "unconfirmed";
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
}

/** The rules of a settlement. */
export interface Rules {
  readonly network: string;
  /** True if another process may have sent a transaction: it is looked for first. */
  readonly isResumed: boolean;
  /** Replacement that a person asks for. */
  readonly requestedReplacement?: RequestedReplacement | undefined;
  /** Milliseconds; undefined: fees are never raised without a request. */
  readonly timeBeforeBumpingFees?: number | undefined;
  readonly maxFeeBumps: number;
}

/** The chain, the key and the journal. */
export interface Means {
  readonly emit: (event: SendingEvent) => void;
  readonly pollingIntervalMs: number;
  /** Time for a node to mine or queue an accepted transaction. */
  readonly firstCheckAfterMs: number;
  readonly limit: TimeLimit;
  readonly sign: (
    newest: SentTransaction,
    kind: RequestedReplacement,
  ) => Promise<SignedReplacement>;
  /**
   * Writes the transactions to the journal.
   *
   * @returns False if another process has finished the settlement, or added one.
   */
  readonly record: (transactions: SentTransactions) => Promise<boolean>;
}

type Decision = Outcome | RequestedReplacement | "look" | "send";

/** Looks between two sends of the same bytes, or two tries to replace them. */
const LOOKS_BETWEEN_TRIES = 2;
/** Looks after which a transaction without signed bytes counts as lost. */
const LOOKS_UNTIL_LOST = 5;
const NOT_IN_TIME = "the node did not answer in time";
/** The same question may have an answer the next time. */
const NO_ANSWER: readonly string[] = [
  "VAULT_RPC_TIMEOUT",
  "VAULT_NETWORK_UNREACHABLE",
];

/**
 * Follows a settlement from the moment at which the journal has its signed transaction: it
 * looks at the chain, decides, and acts, until the chain has decided or the time is over.
 * After a failure it looks; it signs nothing again. By the newest look:
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
  #isUnread = false;
  /** The round as last read. */
  #round: RoundSeen | undefined;
  #isBegun: boolean;
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
  /** True once the requested replacement is made, or forbidden. */
  #isRequestDone = false;
  #notReplaced: Exclude<Replacing, { kind: "made" }> | undefined;

  constructor(
    private readonly rules: Rules,
    private readonly sought: Sought,
    private readonly means: Means,
    transactions: SentTransactions,
  ) {
    this.transactions = transactions;
    this.hashes = transactions.flatMap(({ hash }) => hash ?? []);
    this.#lookout = new Lookout(sought);
    this.#isBegun = rules.isResumed;
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
    const { limit, pollingIntervalMs, firstCheckAfterMs } = this.means;
    let decision: Decision = this.#isBegun ? "look" : "send";
    let wait = this.#known === undefined ? 0 : pollingIntervalMs;
    this.#isBegun = true;
    while (typeof decision === "string") {
      if (decision === "send" && !(await this.#mayGoOn())) {
        return this.#undecided(
          "Another process goes on with this settlement, or has finished it, so it is not sent.",
        );
      }
      if (decision === "send") {
        await this.#send();
      } else if (decision !== "look") {
        await this.#replace(decision);
      }
      await pause(decision === "look" ? wait : firstCheckAfterMs, limit.signal);
      wait = pollingIntervalMs;
      // If the time ends meanwhile, the look before is all that is known.
      const looking = this.#lookout.look(this.transactions);
      const seen =
        (await unlessAborted(looking, limit.signal)) ??
        this.#known ??
        ({ kind: "unread", problem: NOT_IN_TIME } as const);
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
    return !this.rules.isResumed && this.#sends === 0 && !this.#wasSeen;
  }

  /** True for a settlement that a person asked to cancel, also if it cannot be yet. */
  get #isUnwanted(): boolean {
    return (
      this.rules.requestedReplacement === "cancel" &&
      this.#newest.kind === "settlement"
    );
  }

  #decide(seen: Seen): Decision {
    const { confirmations } = this.sought;
    const { hash, raw } = this.#newest;
    if (seen.kind === "mined" && seen.depth >= confirmations) {
      return seen;
    }
    if (seen.kind === "replaced" && seen.depth >= confirmations) {
      return this.#replacedBy(seen.by);
    }
    if (this.means.limit.isOver) {
      return this.#isUnsent ? this.#neverSent() : this.#timeIsOver(seen);
    }
    if (this.#notReplaced?.kind === "declined") {
      const { problem } = this.#notReplaced;
      return this.#undecided(`It is not mined yet, and ${problem}`);
    }
    if (seen.kind !== "pending" && seen.kind !== "absent") {
      return "look";
    }
    const failed = seen.kind === "absent" ? this.#failedAtOnce() : undefined;
    if (failed !== undefined) {
      return refusedBy(failed);
    }
    const due = this.#replacementDue(seen);
    if (due !== undefined) {
      return due;
    }
    const mayTry = this.#looks >= LOOKS_BETWEEN_TRIES;
    if (seen.kind === "pending") {
      const isOvertaken =
        this.#answer?.kind !== "accepted" &&
        this.transactions.length > 1 &&
        seen.hash !== hash;
      return isOvertaken && mayTry && !this.#isUnwanted ? "send" : "look";
    }
    const { round } = seen;
    if (round.kind === "closed") {
      // The node that was asked may be behind, or the round may end soon.
      const mayOpen = round.why.isEarly === true && this.#sends > 0;
      return round.isNonceFree && !mayOpen
        ? this.#roundIsClosed(round.why)
        : "look";
    }
    if (round.kind === "unread") {
      return "look";
    }
    if (raw === undefined && (this.#sends > 0 || this.rules.isResumed)) {
      // A person may have to approve each send, and the node may choose another nonce.
      return this.#lost() ?? "look";
    }
    return (this.#sends === 0 || mayTry) && !this.#isUnwanted ? "send" : "look";
  }

  /** A plugin that failed to send, or a round that cannot be read however often. */
  #failedAtOnce(): VaultError | undefined {
    const isFirst =
      this.#sends === 1 && !this.rules.isResumed && !this.#wasSeen;
    if (this.#answer?.kind === "failed" && isFirst) {
      return this.#answer.error;
    }
    const error =
      this.#round?.kind === "unread" ? this.#round.error : undefined;
    return error === undefined || NO_ANSWER.includes(error.code)
      ? undefined
      : this.#isUnsent
        ? error
        : undefined;
  }

  #replacementDue(seen: Seen): Decision | undefined {
    const { requestedReplacement, timeBeforeBumpingFees, maxFeeBumps } =
      this.rules;
    const { kind, raw, preparedAt } = this.#newest;
    const mayTry = this.#looks >= LOOKS_BETWEEN_TRIES;
    if (this.#isUnwanted) {
      return this.#isRequestDone ? undefined : mayTry ? "cancel" : "look";
    }
    const isDue =
      timeBeforeBumpingFees !== undefined &&
      raw !== undefined &&
      this.transactions.length - 1 < maxFeeBumps &&
      // One that failed is tried again after as long: a person may have to sign it.
      Date.now() - Math.max(this.#replacedAt, preparedAt) >=
        timeBeforeBumpingFees;
    const isRequested = requestedReplacement === "bump" && !this.#isRequestDone;
    const isLost =
      kind === "settlement" &&
      seen.kind === "absent" &&
      seen.round.kind !== "open";
    return (isRequested || isDue) && mayTry && !isLost ? "bump" : undefined;
  }

  #undecided(
    reason: string,
    more: Partial<Pick<Mined, "hash" | "receipt">> = {},
  ): Outcome {
    const { hash } = this.#newest;
    const status = "unconfirmed" as const;
    return { kind: "undecided", status, reason, hash, ...more };
  }

  #replacedBy(by: Hex | undefined): Outcome {
    const { hash, from, nonce } = this.#newest;
    const user =
      by === undefined
        ? `no transaction of ${from} has its nonce ${nonce}, which is used (an EIP-7702 authorization uses one, too)`
        : `transaction ${by} of ${from} used its nonce ${nonce}`;
    const reason = `It was replaced: ${user}, so it can never be mined.`;
    return { kind: "dropped", hash, status: "unconfirmed", reason };
  }

  #roundIsClosed(why: Stopped): Outcome {
    if (this.#isUnsent) {
      return why;
    }
    const { hash, from, nonce } = this.#newest;
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

  /** @returns Undefined while an unsigned transaction may only be late. */
  #lost(): Outcome | undefined {
    const { hash, from, nonce } = this.#newest;
    const problem =
      this.#answer?.kind === "refused" ? this.#answer.problem : undefined;
    const mayBeLate = problem === undefined && !this.rules.isResumed;
    if (mayBeLate || this.#absent < LOOKS_UNTIL_LOST) {
      return undefined;
    }
    const why =
      problem === undefined
        ? refusedBy(vaultError("VAULT_SETTLEMENT_LOST", { from, nonce }))
        : ({
            status: "refused",
            code: "VAULT_RPC_ERROR",
            reason: `The node does not have the transaction, and answered it with an error: ${problem}`,
          } as const);
    return { ...why, kind: "dropped", hash };
  }

  #neverSent(): Stopped {
    const { network } = this.rules;
    const { code, shortMessage } =
      (this.#round?.kind === "unread" ? this.#round.error : undefined) ??
      vaultError("VAULT_RPC_TIMEOUT", { network, method: "eth_call" });
    const reason = `The round could not be read in time, so nothing was sent: ${shortMessage}`;
    return { kind: "stopped", status: "refused", code, reason };
  }

  #timeIsOver(seen: Seen): Outcome {
    const { hash, from, nonce } = this.#newest;
    const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
    const problems = [this.#describe(seen), this.#notReplaced?.problem ?? ""]
      .map((problem) => problem.replace(/\.$/u, ""))
      .filter((problem) => problem !== "");
    return this.#undecided(
      `The time is over for ${what} of ${from} with nonce ${nonce}: ${problems.join("; ")}.`,
      {
        // The pool or a block may have an older one than the newest.
        ...("hash" in seen && seen.hash !== undefined && { hash: seen.hash }),
        ...(seen.kind === "mined" && { receipt: seen.receipt }),
      },
    );
  }

  #describe(seen: Seen): string {
    const { confirmations } = this.sought;
    const confirmed = (depth: number): string =>
      `with ${depth} of ${confirmations} confirmations`;
    switch (seen.kind) {
      case "mined":
        return `it is in block ${seen.receipt.blockNumber}, ${confirmed(seen.depth)}`;
      case "pending":
        return seen.hash === undefined
          ? "a transaction with its nonce waits in the node's pool"
          : "it waits in the node's pool";
      case "replaced":
        return seen.by === undefined
          ? "its nonce is used, and by which transaction could not be seen"
          : `transaction ${seen.by} used its nonce, ${confirmed(seen.depth)}`;
      case "unread":
        return seen.problem;
      case "absent":
        return `the node does not have it${this.#whyAbsent(seen.round)}`;
    }
  }

  #whyAbsent(round: RoundSeen): string {
    switch (round.kind) {
      case "unread":
        return `, and it could not be sent again: ${round.problem}`;
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

  /**
   * Reads the journal again before the first send of a process that took it over.
   *
   * @returns False if another process has finished it.
   */
  async #mayGoOn(): Promise<boolean> {
    return (
      !this.rules.isResumed ||
      this.#sends > 0 ||
      (await this.means.record(this.transactions))
    );
  }

  /** Sends the newest transaction; a settlement only if its round is open just before. */
  async #send(): Promise<void> {
    const { emit, limit } = this.means;
    const { hash = null, nonce, kind } = this.#newest;
    this.#looks = 0;
    if (kind === "settlement" && (await this.#readRound()).kind !== "open") {
      return;
    }
    if (this.#sends === 0) {
      emit({ type: "sending", hash, nonce });
    }
    const late = { kind: "unanswered", problem: "no answer in time" } as const;
    const sending = send(this.sought.rpc, this.#newest);
    const answer: SendAnswer =
      (await unlessAborted(sending, limit.signal)) ?? late;
    this.#answer = answer;
    this.#sends += 1;
    this.#absent = 0;
    if (answer.kind === "accepted") {
      await this.#note(answer.hash);
    } else {
      this.#warn(describeAnswer(answer));
    }
  }

  async #readRound(): Promise<RoundSeen> {
    const { limit } = this.means;
    const read = await unlessAborted(
      readRound(this.sought.checkRound),
      limit.signal,
    );
    const round =
      read === undefined || limit.isOver
        ? ({ kind: "unread", problem: NOT_IN_TIME, error: undefined } as const)
        : read;
    this.#tellRound(round);
    return round;
  }

  /** Signs a replacement, writes it to the journal, and only then sends it. */
  async #replace(kind: RequestedReplacement): Promise<void> {
    this.#looks = 0;
    const made = await this.#makeReplacement(kind);
    if (made === undefined) {
      return;
    }
    this.#replacedAt = Date.now();
    this.#isRequestDone = made.kind !== "failed";
    if (made.kind === "made") {
      this.#notReplaced = undefined;
      this.#answer = undefined;
      await this.#send();
      return;
    }
    const what =
      kind === "bump"
        ? "the transaction is not replaced at a higher fee"
        : "the transaction is not cancelled";
    const problem = `${what}: ${made.problem}`;
    if (problem !== this.#notReplaced?.problem) {
      this.#warn(problem);
    }
    this.#notReplaced = { kind: made.kind, problem };
  }

  /** @returns Undefined if the round, without which nothing is signed, cannot be read. */
  async #makeReplacement(
    kind: RequestedReplacement,
  ): Promise<Replacing | undefined> {
    const { sign, record, emit, limit } = this.means;
    if (kind === "bump" && this.#newest.kind === "settlement") {
      // No higher fee is signed for a round that is over.
      const round = await this.#readRound();
      if (round.kind !== "open") {
        return round.kind === "unread"
          ? undefined
          : { kind: "failed", problem: round.why.reason };
      }
    }
    try {
      const signing = sign(this.#newest, kind);
      const signed = await unlessAborted(signing, limit.signal);
      if (signed === undefined || limit.isOver) {
        return { kind: "failed", problem: NOT_IN_TIME };
      }
      if (signed.kind !== "signed") {
        return signed;
      }
      const { transaction } = signed;
      const all: SentTransactions = [...this.transactions, transaction];
      if (!(await record(all))) {
        const problem =
          "another process goes on with this settlement, or has finished it";
        return { kind: "failed", problem };
      }
      this.transactions = all;
      this.hashes = [...this.hashes, transaction.hash];
      const { hash, nonce } = transaction;
      emit({ type: "replacing", kind: transaction.kind, hash, nonce });
      return { kind: "made" };
    } catch (error) {
      return { kind: "failed", problem: describeProblem(error) };
    }
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
    this.means.emit({ type: "hash", hash });
    if (this.#newest.raw === undefined) {
      const [first, ...others] = this.transactions;
      this.transactions = [{ ...first, hash }, ...others];
      await this.means.record(this.transactions).catch((error: unknown) => {
        this.#warn(describeProblem(error));
      });
    }
  }

  #tellRound(round: RoundSeen): void {
    if (round.kind === "unread" && this.#round?.kind !== "unread") {
      this.#warn(round.problem);
    }
    this.#round = round;
  }

  /** Takes a look in, and tells what is new since the one before. */
  async #take(seen: Seen): Promise<void> {
    const was = this.#known;
    this.#looks += 1;
    if (seen === was) {
      return;
    }
    if (seen.kind === "absent") {
      this.#tellRound(seen.round);
    }
    if (seen.kind === "unread") {
      // A look that failed changes nothing.
      if (!this.#isUnread) {
        this.#warn(seen.problem);
      }
      this.#isUnread = true;
      return;
    }
    this.#isUnread = false;
    this.#known = seen;
    if (seen.kind === "absent") {
      this.#absent += 1;
    } else {
      this.#absent = 0;
      this.#wasSeen = true;
    }
    if ("hash" in seen) {
      await this.#note(seen.hash);
    }
    newsOf(this.sought.confirmations, was, seen).forEach(this.means.emit);
  }

  #warn(message: string): void {
    this.means.emit({ type: "trouble", message });
  }
}

type Replacing =
  | { readonly kind: "made" }
  | {
      readonly kind: "declined" | "failed" | "forbidden";
      readonly problem: string;
    };

/** Returns the events of what is new in a look. */
function newsOf(
  confirmations: number,
  was: Seen | undefined,
  is: Seen,
): readonly SendingEvent[] {
  const isReorged =
    was?.kind === "mined" &&
    (is.kind !== "mined" || is.receipt.blockHash !== was.receipt.blockHash);
  const isDropped =
    is.kind === "absent" && (was?.kind === "pending" || was?.kind === "mined");
  const troubles = [
    isReorged &&
      `a re-org took the transaction out of block ${was.receipt.blockNumber}`,
    isDropped && "the node dropped the transaction",
  ].flatMap((message) =>
    message === false ? [] : ({ type: "trouble", message } as const),
  );
  if (is.kind !== "mined") {
    return troubles;
  }
  const { hash, receipt } = is;
  const { blockNumber } = receipt;
  const before = was?.kind === "mined" && !isReorged ? was.depth : 0;
  const count = Math.min(is.depth, confirmations);
  return [
    ...troubles,
    ...(before === 0 ? [{ type: "mined", hash, blockNumber } as const] : []),
    ...(confirmations > 1 && count > Math.min(before, confirmations)
      ? [
          {
            type: "confirmed",
            hash,
            confirmations: count,
            wanted: confirmations,
          } as const,
        ]
      : []),
  ];
}

function describeAnswer(
  answer: Exclude<SendAnswer, { kind: "accepted" }>,
): string {
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

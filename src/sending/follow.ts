import { VaultError, vaultError } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import { isUnanswered } from "../rpc/errors.js";
import { pause, unlessAborted } from "../rpc/signals.js";
import { refusedBy } from "./job.js";
import type { Job, End, Stopped } from "./job.js";
import { look } from "./look.js";
import type { Seen } from "./look.js";
import { describeProblem, newestOf, send } from "./transaction.js";
import type {
  RequestedReplacement,
  SendAnswer,
  SentTransaction,
  SentTransactions,
} from "./transaction.js";

type Decision = End | RequestedReplacement | "look" | "send";

/** Looks in a row that show the same: a node that is behind, or a re-org, may mislead one. */
const ENOUGH_LOOKS = 2;
/** Such looks after which a transaction without signed bytes counts as lost. */
const LOOKS_UNTIL_LOST = 7;
/** A node that mines at once has done so by then. */
const SECOND_LOOK_MS = 100;
const NOT_IN_TIME = "the node did not answer in time";
export const OF_ANOTHER =
  "another process goes on with this settlement, or has finished it";

/**
 * Follows transactions from the moment at which the journal has them: it looks at the
 * chain, decides, and acts, until the chain has decided or the time is over. After a failure
 * it looks; it signs nothing again. What an act could not do, the next decision takes into
 * account: only `#decide` ends it.
 */
export class Following {
  public transactions: SentTransactions;
  /** What the newest look that had an answer showed. */
  #known: Seen | undefined;
  /** Looks in a row that showed that, since the last try to send or to replace. */
  #looks = 0;
  /** To the last send of this process. */
  #answer: SendAnswer | undefined;
  /** True once one of the transactions may have left this process, or another one. */
  #mayHaveLeft: boolean;
  /** Why this process can do nothing more. */
  #givenUp: string | undefined;
  /** Unix milliseconds of the last try to sign a replacement. */
  #replacedAt = 0;
  /** Why the looks since the one that is known had no answer. */
  #unread: string | undefined;
  readonly #warnings = new Set<string>();

  constructor(private readonly job: Job) {
    this.transactions = job.transactions;
    this.#mayHaveLeft = job.isResumed;
  }

  /**
   * Sends it once, so that others of its account can be sent before this is followed.
   *
   * @returns False if it is not known to have left: only the end shows whether others may.
   */
  public async begin(): Promise<boolean> {
    await this.#send();
    return this.#answer?.kind === "accepted";
  }

  /** Never throws. Called again, it looks again: a re-org may have moved the end. */
  public async toEnd(): Promise<End> {
    const { limit, pollingIntervalMs } = this.job;
    const isNew = this.#known === undefined;
    let decision: Decision = isNew && this.#isUnsent ? "send" : "look";
    let wait = isNew ? 0 : pollingIntervalMs;
    try {
      while (typeof decision === "string") {
        if (decision === "look") {
          await pause(wait, limit.signal);
          wait = pollingIntervalMs;
        } else {
          await (decision === "send" ? this.#send() : this.#replace(decision));
          // It looks at once, and soon again.
          this.#looks = 0;
          wait = Math.min(SECOND_LOOK_MS, pollingIntervalMs);
        }
        decision = this.#decide(await this.#look());
      }
      return decision;
    } catch (error) {
      return this.#isUnsent && VaultError.isVaultError(error)
        ? refusedBy(error)
        : this.#undecided(describeProblem(error));
    }
  }

  get #newest(): SentTransaction {
    return newestOf(this);
  }

  get #isUnsent(): boolean {
    return !this.#mayHaveLeft && this.#answer === undefined;
  }

  /** The whole table of what a look leads to. */
  #decide(seen: Seen): Decision {
    const { confirmations, limit, replacing, record, isResumed } = this.job;
    const { kind, hash, raw } = this.#newest;
    const answer = this.#answer;
    const isUnsent = this.#isUnsent;
    const isSure = this.#looks >= ENOUGH_LOOKS;
    // It is mined for good.
    if (seen.kind === "mined" && seen.depth >= confirmations) {
      return seen;
    }
    // Another one is, with its nonce.
    if (seen.kind === "replaced" && seen.depth >= confirmations && isSure) {
      const reason = `It was replaced: ${seen.text}, so it can never be mined.`;
      return { ...this.#undecided(reason), kind: "dropped" };
    }
    if (this.#givenUp !== undefined && seen.kind !== "mined") {
      return this.#undecided(this.#givenUp);
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
      const { round } = seen;
      // It did not leave this process; a plugin may have sent it, so a node has time to show it.
      if (answer?.kind === "failed" && !this.#mayHaveLeft) {
        return isSure ? refusedBy(answer.error) : "look";
      }
      // No journal keeps it for another try.
      if (answer?.kind === "rejected" && record === undefined) {
        const what = hash ?? "the transaction";
        return this.#undecided(`The node refused ${what}: ${answer.problem}`);
      }
      if (VaultError.isVaultError(round)) {
        return isUnsent && !isUnanswered(round) ? refusedBy(round) : "look";
      }
      if (seen.isOld === true && !isUnsent) {
        return "look";
      }
      if (round !== undefined) {
        return isUnsent ? round : this.#roundIsClosed(round);
      }
      // A person may have to approve each send, and a node that signs may choose another
      // nonce: without signed bytes, it is sent once.
      if (raw === undefined && !isUnsent) {
        const isGone = isResumed || answer?.kind === "rejected";
        return isGone && this.#looks >= LOOKS_UNTIL_LOST
          ? this.#lost()
          : "look";
      }
    }
    if (this.#isBumpDue()) {
      return "bump";
    }
    // If an earlier one waits, the node may lack the newest.
    const isMissing =
      seen.kind === "absent" ||
      (this.transactions.length > 1 && seen.hash !== hash);
    // What another process sent has had its time.
    return isMissing && (isSure || answer === undefined) ? "send" : "look";
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
      transactions.length <= (maxFeeBumps ?? 0) &&
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
  #roundIsClosed(obstacle: Stopped): End {
    const { hash, from, nonce } = this.#newest;
    const reason = `${obstacle.reason} The node does not have the transaction that was sent before, and it is not sent again.`;
    const next = `Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`;
    // What this process sent may be on its way; what another one sent has had its time.
    return this.#answer === undefined
      ? { ...obstacle, kind: "dropped", hash, reason: `${reason} ${next}` }
      : this.#undecided(reason);
  }

  #lost(): End {
    const { hash, from, nonce } = this.#newest;
    const answer = this.#answer;
    const end = { kind: "dropped", status: "refused", hash } as const;
    if (answer?.kind === "rejected") {
      const reason = `The node does not have the transaction, and answered it with an error: ${answer.problem}`;
      return { ...end, code: "VAULT_RPC_ERROR", reason };
    }
    const lost = vaultError("VAULT_SETTLEMENT_LOST", { from, nonce });
    return { ...end, code: lost.code, reason: lost.message };
  }

  #neverSent(seen: Seen): End {
    const round = seen.kind === "absent" ? seen.round : undefined;
    const isUnread = VaultError.isVaultError(round);
    const code = isUnread ? round.code : "VAULT_RPC_TIMEOUT";
    const why = seen.text.replace(/\.$/u, "");
    const reason = `It could not be prepared in time, so nothing was sent: ${why}.`;
    return { kind: "stopped", status: "refused", code, reason };
  }

  #timeIsOver(seen: Seen): End {
    const { hash, from, nonce } = this.#newest;
    const answer = this.#answer;
    const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
    const isFound = seen.kind !== "absent" && seen.kind !== "unread";
    const failure =
      isFound || answer === undefined || answer.kind === "accepted"
        ? ""
        : `; sending it failed: ${answer.problem}`;
    const since =
      this.#unread === undefined || this.#known === undefined
        ? ""
        : `, as last seen; since then ${this.#unread}`;
    const { text } = this.#known ?? seen;
    const state = `${text}${since}${failure}`.replace(/\.$/u, "");
    const reason = `The time is over for ${what} of ${from} with nonce ${nonce}: ${state}.`;
    return {
      ...this.#undecided(reason),
      // The pool or a block may have an older one than the newest.
      ...("hash" in seen && { hash: seen.hash }),
      ...(seen.kind === "mined" && { receipt: seen.receipt }),
    };
  }

  /**
   * Sends the newest transaction; a settlement only if its round is open just before.
   *
   * @throws VaultError if the journal cannot be written before the first send
   */
  async #send(): Promise<void> {
    const { emit, limit, rpc, record } = this.job;
    const { hash = null, nonce, kind } = this.#newest;
    if (kind === "settlement" && (await this.#whyNotNow()) !== undefined) {
      return;
    }
    if (this.#answer === undefined) {
      // Another process may have taken the journal over.
      if ((await record?.(this.transactions)) === false) {
        this.#givenUp = `It is not sent: ${OF_ANOTHER}.`;
        return;
      }
      emit({ type: "sending", hash, nonce });
    }
    const sending = send(rpc, this.#newest);
    const none = { kind: "unanswered", problem: "no answer in time" } as const;
    const answered = await unlessAborted(sending, limit.signal);
    const answer = answered ?? none;
    // Why the node refused it before says more than that the time is over.
    this.#answer = answered ?? this.#answer ?? none;
    this.#mayHaveLeft ||= answer.kind !== "failed";
    if (answer.kind === "accepted") {
      await this.#note(answer.hash);
    } else {
      const { problem } = answer;
      this.#warn(`sending failed (${problem}); looking for the transaction`);
    }
  }

  /** @returns Why the round is not to be settled now, or that it cannot be read. */
  async #whyNotNow(): Promise<string | undefined> {
    const { checkRound, limit } = this.job;
    const reading = checkRound().then(
      (obstacle) => obstacle?.reason,
      describeProblem,
    );
    const why = await unlessAborted(reading, limit.signal);
    return limit.isOver ? NOT_IN_TIME : why;
  }

  /** Sends a replacement. If a person asked for one that cannot be made, it gives up. */
  async #replace(kind: RequestedReplacement): Promise<void> {
    const problem = await this.#makeReplacement(kind).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (problem === undefined) {
      await this.#send();
      return;
    }
    const done = kind === "bump" ? "replaced at a higher fee" : "cancelled";
    const message = `the transaction is not ${done}: ${problem}`;
    this.#warn(message);
    if (this.job.replacing?.requested !== undefined) {
      this.#givenUp = `It is not mined yet, and ${message}`;
    }
  }

  /**
   * Signs a replacement and writes it to the journal, before it is sent.
   *
   * @returns Why there is none.
   */
  async #makeReplacement(
    kind: RequestedReplacement,
  ): Promise<string | undefined> {
    const { replacing, record, emit, limit } = this.job;
    // No higher fee is signed for a round that is over, or that cannot be read.
    const whyNot =
      kind === "bump" && this.#newest.kind === "settlement"
        ? await this.#whyNotNow()
        : undefined;
    if (whyNot !== undefined) {
      return whyNot;
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

  /** Looks, and tells what is new since the look before. */
  async #look(): Promise<Seen> {
    const { job, transactions } = this;
    const was = this.#known;
    const seen = await unlessAborted(look(job, transactions), job.limit.signal);
    if (seen === undefined) {
      // The look before is all that is known.
      return was ?? { kind: "unread", text: NOT_IN_TIME };
    }
    // A look that failed changes nothing.
    this.#unread = seen.kind === "unread" ? seen.text : undefined;
    if (seen.kind === "unread") {
      this.#warn(seen.text);
      return seen;
    }
    this.#looks = was?.kind === seen.kind ? this.#looks + 1 : 1;
    this.#known = seen;
    this.#mayHaveLeft ||= seen.kind !== "absent";
    if (seen.kind === "absent" && VaultError.isVaultError(seen.round)) {
      this.#warn(describeProblem(seen.round));
    }
    if ("hash" in seen) {
      await this.#note(seen.hash);
    }
    this.#tell(was, seen);
    return seen;
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
      ["pending", "mined"].includes(was?.kind ?? "")
    ) {
      this.#warn("the node dropped the transaction");
    }
    if (is.kind !== "mined") {
      return;
    }
    const { hash, receipt } = is;
    if (!isStill) {
      emit({ type: "mined", hash, blockNumber: receipt.blockNumber });
    }
    const told = isStill ? Math.min(earlier.depth, confirmations) : 0;
    const count = Math.min(is.depth, confirmations);
    if (confirmations > 1 && count > told) {
      const wanted = confirmations;
      emit({ type: "confirmed", hash, confirmations: count, wanted });
    }
  }

  /** Each is told once. */
  #warn(message: string): void {
    if (!this.#warnings.has(message)) {
      this.#warnings.add(message);
      this.job.emit({ type: "trouble", message });
    }
  }
}

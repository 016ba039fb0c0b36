import type { VaultErrorCode } from "../errors.js";
import type { Chain, Receipt } from "../rpc/node.js";
import { Deadline } from "../rpc/deadline.js";
import { describeProblem, send } from "./send.js";
import type { SendAnswer } from "./send.js";
import { NonceSearch, findTransaction } from "./find-transaction.js";
import type { FoundTransaction, SentTransaction } from "./find-transaction.js";
import { refusal } from "./stopped.js";
import type { SettlementStopped } from "./stopped.js";
import type { SettlementEvent } from "./types.js";

/** So many polling intervals a last question may take. */
export const LAST_QUESTION_INTERVALS = 5;

/** How a transaction is followed, and who is told. */
export interface FollowOptions {
  readonly confirmations: number;
  readonly deadline: Deadline;
  readonly pollingIntervalMs: number;
  /** What a node gets to mine or queue what it accepted. */
  readonly firstLookAfterMs: number;
  /**
   * Whether it may be sent once more: same round, unsettled, at the newest block
   * unless another is given.
   *
   * @returns Why not, or undefined.
   * @throws VaultError if that cannot be found out now
   */
  readonly checkRound: (
    block?: number,
  ) => Promise<SettlementStopped | undefined>;
  /** Told a hash that was not known before. */
  readonly onHash: (hash: string) => Promise<void>;
  readonly emit: (event: SettlementEvent) => void;
}

/** `check and send`: once more, if the round still allows it. */
type Step = "send" | "look" | "check and send";

/** How it ended. */
export type FollowOutcome =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  | {
      /**
       * `dropped`: it will not be sent again, and the chain does not have it;
       * `open`: time ran out, and it may still be mined.
       */
      readonly kind: "dropped" | "open";
      readonly hash: string | undefined;
      readonly status: SettlementStopped["status"];
      /** The error behind it, where there is one. */
      readonly code?: VaultErrorCode | undefined;
      readonly reason: string;
      readonly receipt?: Receipt | undefined;
    };

/**
 * Follows a transaction until it is mined deep enough, can never be mined, or
 * time is over; sends it again where the node lost it. Never throws.
 *
 * @param start `send` if the round was checked just now, else `look`.
 */
export async function followTransaction(
  chain: Chain,
  transaction: SentTransaction,
  start: "send" | "look",
  options: FollowOptions,
): Promise<FollowOutcome> {
  const { deadline, pollingIntervalMs, firstLookAfterMs } = options;
  const state = new FollowedTransaction(
    chain,
    transaction,
    options,
    start === "send",
  );
  let next: Step = start;
  for (;;) {
    const step = next;
    let obstacle: SettlementStopped | undefined;
    let sends = step === "send";
    // Whatever fails, the next thing is to look, never to send.
    next = "look";
    try {
      if (step === "check and send") {
        const checked = await deadline.within(state.check());
        // No answer in time: nothing is known of the round, nothing is sent.
        if (checked === true) {
          sends = !deadline.isOver;
        } else {
          obstacle = checked;
        }
      }
      if (sends) {
        state.announce();
        await state.note(await sendOnce(chain, state.transaction, deadline));
        await deadline.pause(firstLookAfterMs);
      }
      const found = await state.find();
      const end = state.outcomeOf(found);
      if (end !== undefined) {
        return end;
      }
      if (found?.kind === "not-found") {
        // Looked for once more after the obstacle was found: the round may be
        // settled by the very transaction that seemed lost.
        if (obstacle !== undefined) {
          return state.stopped(obstacle);
        }
        if (state.maySendAgain) {
          next = "check and send";
        }
      }
    } catch (error) {
      state.fail(error, step);
    }
    if (deadline.isOver) {
      return await state.timedOut();
    }
    await deadline.pause(pollingIntervalMs);
  }
}

async function sendOnce(
  chain: Chain,
  transaction: SentTransaction,
  deadline: Deadline,
): Promise<SendAnswer> {
  const answer = send(chain, transaction);
  // A node or a device that signs may wait for a person; only bytes that can
  // be sent again are left behind.
  return transaction.raw === undefined
    ? await answer
    : ((await deadline.within(answer)) ?? {
        kind: "lost",
        problem: "no answer in time",
      });
}

/** A transaction, and what has been seen of it so far. */
class FollowedTransaction {
  readonly #search = new NonceSearch();
  #receipt: Receipt | undefined;
  #depth = 0;
  #refusal: string | undefined;
  #wasSeen = false;
  /** How often in a row the node did not have it. */
  #unseen = 0;
  #hasSent = false;
  /** A send may have reached some node's pool, whatever later sends hear. */
  #maySitSomewhere: boolean;
  #wasAccepted = false;
  #sendProblem = "";
  #last = "nothing was seen of it yet";

  /** @param isFresh False if it may have been sent before. */
  constructor(
    private readonly chain: Chain,
    public transaction: SentTransaction,
    private readonly options: FollowOptions,
    private readonly isFresh: boolean,
  ) {
    this.#maySitSomewhere = !isFresh;
  }

  /**
   * Signed bytes can be sent as often as one likes. What another one signs is
   * not asked for again once it was taken, nor by another process: a person may
   * have to press a button each time, and some nodes do not show what waits.
   */
  public get maySendAgain(): boolean {
    return (
      this.transaction.raw !== undefined || (this.isFresh && !this.#wasAccepted)
    );
  }

  public announce(): void {
    const { hash, nonce } = this.transaction;
    if (!this.#hasSent) {
      this.options.emit({ type: "sending", hash: hash ?? null, nonce });
    }
    this.#hasSent = true;
  }

  public async note(answer: SendAnswer): Promise<void> {
    this.#refusal = undefined;
    this.#sendProblem = "";
    this.#maySitSomewhere ||= answer.kind !== "refused";
    switch (answer.kind) {
      case "accepted":
        this.#wasAccepted = true;
        await this.#learnHash(answer.hash);
        break;
      case "nonce-taken":
        this.#sendProblem = `, and says that nonce ${this.transaction.nonce} is taken`;
        this.#trouble("the node says that the nonce is taken");
        break;
      case "refused":
        // Refused now, but an earlier copy may still be mined.
        if (this.#maySitSomewhere) {
          this.#sendProblem = `, and sending it again was refused: ${answer.problem}`;
        } else {
          this.#refusal = answer.problem;
        }
        this.#trouble(`the node refused the transaction: ${answer.problem}`);
        break;
      case "lost":
        this.#sendProblem = `, and sending it failed: ${answer.problem}`;
        this.#trouble(
          `the answer to sending was lost (${answer.problem}); looking for the transaction`,
        );
        break;
    }
  }

  /**
   * @returns True if it may be sent again, or why not; undefined if that cannot
   * be told yet.
   */
  public async check(): Promise<SettlementStopped | true | undefined> {
    const obstacle = await this.options.checkRound();
    if (obstacle === undefined) {
      return true;
    }
    if (await this.#isUnused()) {
      return obstacle;
    }
    this.#sendProblem = ", though it may be what settled the round";
    return undefined;
  }

  /**
   * Whether its nonce is free in a block in which there is an obstacle already.
   * What looks transactions up can be behind what reads the round: then it may
   * be this very transaction that settled it.
   */
  async #isUnused(): Promise<boolean> {
    const { from, nonce } = this.transaction;
    const head = await this.chain.blockNumber();
    return (
      (await this.options.checkRound(head)) !== undefined &&
      (await this.chain.nonce(from, head)) <= nonce
    );
  }

  /** @returns Undefined if the deadline came first. */
  public async find(): Promise<FoundTransaction | undefined> {
    const { confirmations, deadline } = this.options;
    const head =
      confirmations > 1
        ? await deadline.within(this.chain.blockNumber())
        : undefined;
    const found = await deadline.within(
      findTransaction(this.chain, this.transaction, this.#search),
    );
    if (found === undefined) {
      return undefined;
    }
    if (found.kind === "mined" || found.kind === "pending") {
      this.#wasSeen = true;
      this.#unseen = 0;
      await this.#learnHash(found.hash);
    }
    if (found.kind === "mined") {
      const { hash, receipt } = found;
      this.#noteReceipt(receipt);
      const { blockNumber } = receipt;
      const newest = head ?? blockNumber;
      this.#noteDepth(hash, Math.max(1, newest - blockNumber + 1));
    } else if (this.#receipt !== undefined) {
      this.#trouble(
        `a re-org took the transaction out of block ${this.#receipt.blockNumber}`,
      );
      this.#receipt = undefined;
      this.#depth = 0;
    }
    return found;
  }

  /** @returns The end, or undefined to go on. */
  public outcomeOf(
    found: FoundTransaction | undefined,
  ): FollowOutcome | undefined {
    const { hash, nonce, from } = this.transaction;
    switch (found?.kind) {
      case "mined":
        this.#last = `it is in block ${found.receipt.blockNumber}, with ${this.#depth} of ${this.options.confirmations} confirmations`;
        return this.#depth >= this.options.confirmations
          ? { kind: "mined", hash: found.hash, receipt: found.receipt }
          : undefined;
      case "pending":
        this.#last = "it waits in the node's pool";
        return undefined;
      case "replaced":
        if (found.by === undefined) {
          // Behind a load balancer the nonce can be newer than the receipts:
          // without the other transaction at hand, ours may be the one.
          this.#last =
            "its nonce is used, and by which transaction could not be seen";
          return undefined;
        }
        return {
          kind: "dropped",
          hash,
          status: "unconfirmed",
          reason: `It was replaced: transaction ${found.by} of ${from} used its nonce ${nonce}, so it can never be mined.`,
        };
      case "not-found":
        if (this.#refusal !== undefined) {
          return {
            kind: "dropped",
            hash,
            status: "refused",
            code: "VAULT_RPC_ERROR",
            reason: `The node did not take the transaction: ${this.#refusal}`,
          };
        }
        this.#unseen += 1;
        if (
          !this.isFresh &&
          !this.maySendAgain &&
          this.#unseen > LAST_QUESTION_INTERVALS
        ) {
          const lost = refusal("VAULT_SETTLEMENT_LOST", { from, nonce });
          const { status, code, reason } = lost;
          return { kind: "dropped", hash, status, code, reason };
        }
        this.#last = `the node does not have it${this.#sendProblem}`;
        if (this.#wasSeen) {
          this.#trouble("the node dropped the transaction");
          this.#wasSeen = false;
        }
        return undefined;
      case undefined:
        return undefined;
    }
  }

  public fail(error: unknown, step: Step): void {
    const problem = describeProblem(error);
    if (step === "check and send") {
      this.#sendProblem = `, and it could not be sent again: ${problem}`;
    }
    this.#last = problem;
    this.#trouble(problem);
  }

  /**
   * What was sent a moment ago may still be on its way, so only who sent
   * nothing takes a transaction that is not found for lost.
   */
  public stopped({ status, code, reason }: SettlementStopped): FollowOutcome {
    const { hash, from, nonce } = this.transaction;
    const found = `${reason} The node does not have the transaction that was sent before, and it is not sent again.`;
    return this.#hasSent
      ? { kind: "open", hash, status: "unconfirmed", reason: found }
      : {
          kind: "dropped",
          hash,
          status,
          code,
          reason: `${found} Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`,
        };
  }

  public async timedOut(): Promise<FollowOutcome> {
    const warning = await this.#describeDanger();
    if (warning !== "") {
      this.#trouble(warning.trim());
    }
    return {
      kind: "open",
      hash: this.transaction.hash,
      status: "unconfirmed",
      receipt: this.#receipt,
      reason: `${warning}The time is over: ${this.#last.replace(/\.$/u, "")}${await this.#describeGap()}.`,
    };
  }

  /** What waits names no round, and settles the one that is current by then. */
  async #describeDanger(): Promise<string> {
    const { from, nonce } = this.transaction;
    const { checkRound } = this.options;
    if (this.#receipt !== undefined) {
      return "";
    }
    const patience = this.#patience();
    try {
      const obstacle = await patience.within(checkRound());
      if (
        obstacle === undefined ||
        (await patience.within(this.#isUnused())) !== true
      ) {
        return "";
      }
      // It may be this very transaction that settled the round.
      const found = await patience.within(
        findTransaction(this.chain, this.transaction, this.#search),
      );
      return found?.kind === "pending" || found?.kind === "not-found"
        ? `WARNING: ${obstacle.reason} The transaction may still be mined, and then settles whatever round is the latest. To cancel it, let another transaction of ${from} with nonce ${nonce} take its place. `
        : "";
    } catch {
      return "";
    }
  }

  /** A node keeps what cannot be mined yet and does not say so. */
  async #describeGap(): Promise<string> {
    const { from, nonce } = this.transaction;
    if (this.#receipt !== undefined || !this.#wasSeen) {
      return "";
    }
    try {
      const next = await this.#patience().within(
        this.chain.nonce(from, "latest"),
      );
      return next !== undefined && next < nonce
        ? ` behind a gap: its nonce is ${nonce}, and the account's next one is ${next}`
        : "";
    } catch {
      return "";
    }
  }

  /** For what is asked once the time is over. */
  #patience(): Deadline {
    return new Deadline(
      LAST_QUESTION_INTERVALS * this.options.pollingIntervalMs,
    );
  }

  async #learnHash(hash: string | undefined): Promise<void> {
    if (hash === undefined || hash === this.transaction.hash) {
      return;
    }
    if (this.transaction.hash !== undefined) {
      this.#trouble(
        `the transaction was replaced by ${hash}, which makes the same settlement`,
      );
    }
    this.transaction = { ...this.transaction, hash };
    this.options.emit({ type: "hash", hash });
    await this.options.onHash(hash);
  }

  #noteReceipt(receipt: Receipt): void {
    if (this.#receipt?.blockHash === receipt.blockHash) {
      return;
    }
    if (this.#receipt !== undefined) {
      this.#trouble(
        `a re-org moved the transaction from block ${this.#receipt.blockNumber} to ${receipt.blockNumber}`,
      );
    }
    this.#receipt = receipt;
    const { hash, blockNumber } = receipt;
    this.options.emit({ type: "mined", hash, blockNumber });
  }

  /** @param depth Blocks that hold it, its own included. */
  #noteDepth(hash: string, depth: number): void {
    const { confirmations: wanted, emit } = this.options;
    const confirmations = Math.min(depth, wanted);
    if (wanted > 1 && confirmations > Math.min(this.#depth, wanted)) {
      emit({ type: "confirmed", hash, confirmations, wanted });
    }
    this.#depth = depth;
  }

  #trouble(message: string): void {
    this.options.emit({ type: "trouble", message });
  }
}

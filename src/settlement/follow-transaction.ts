import type { VaultErrorCode } from "../errors.js";
import type { RpcClient, Receipt } from "../rpc/node.js";
import type { Deadline } from "../rpc/deadline.js";
import { describeProblem, send } from "./send.js";
import { NonceSearch, findTransaction } from "./find-transaction.js";
import type { NonceUser, SentTransaction } from "./find-transaction.js";
import { SettlementStopped, refusal } from "./stopped.js";
import type { SettlementEvent } from "./types.js";

/** So many failed sends, and then so many empty looks, say that it never arrived. */
const SEVERAL = 5;

export interface FollowOptions {
  readonly confirmations: number;
  readonly deadline: Deadline;
  readonly pollingIntervalMs: number;
  /** What a node gets to mine or queue what it accepted. */
  readonly firstLookAfterMs: number;
  /**
   * @param block Default: the newest.
   * @returns Why it may not be sent once more, or undefined.
   * @throws VaultError if that cannot be found out now
   */
  readonly checkRound: (
    block?: number,
  ) => Promise<SettlementStopped | undefined>;
  /** Told a hash that was not known before. */
  readonly onHash: (hash: string) => Promise<void>;
  readonly emit: (event: SettlementEvent) => void;
}

type Step = "send" | "look" | "check";

export type FollowOutcome =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  | {
      /** `open`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "open";
      readonly hash: string | undefined;
      readonly status: SettlementStopped["status"];
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
  rpc: RpcClient,
  transaction: SentTransaction,
  start: "send" | "look",
  options: FollowOptions,
): Promise<FollowOutcome> {
  const { deadline, pollingIntervalMs, firstLookAfterMs } = options;
  const state = new FollowedTransaction(
    rpc,
    transaction,
    options,
    start === "send",
  );
  let next: Step = start;
  for (;;) {
    const step = next;
    // Whatever fails, the next thing is to look, never to send.
    next = "look";
    try {
      // No answer in time: nothing is known of the round, nothing is sent.
      const checked =
        step === "check" ? await deadline.within(state.check()) : step;
      if (checked === "send" && (step === "send" || !deadline.isOver)) {
        await state.send();
        await deadline.pause(firstLookAfterMs);
      }
      const seen = await state.look();
      if (typeof seen === "object") {
        return seen;
      }
      if (seen === "not-found") {
        // Looked for once more after the check: the round may be settled by the
        // very transaction that seemed lost.
        if (typeof checked === "object") {
          return checked;
        }
        next = "check";
      }
    } catch (error) {
      state.fail(error, step);
    }
    if (deadline.isOver) {
      return state.timedOut();
    }
    await deadline.pause(pollingIntervalMs);
  }
}

class FollowedTransaction {
  readonly #search = new NonceSearch();
  #receipt: Receipt | undefined;
  #confirmations = 0;
  #wasSeen = false;
  #hasSent = false;
  #wasAccepted = false;
  /** The last answers to sending, all of them errors. */
  #errors: readonly string[] = [];
  /** How often in a row, since the last send, the node did not have it. */
  #unseen = 0;
  #sendProblem = "";
  #last = "nothing was seen of it yet";

  constructor(
    private readonly rpc: RpcClient,
    private transaction: SentTransaction,
    private readonly options: FollowOptions,
    /** False if it may have been sent before. */
    private readonly isFresh: boolean,
  ) {}

  public async send(): Promise<void> {
    if (!this.#hasSent) {
      const { hash, nonce } = this.transaction;
      this.options.emit({ type: "sending", hash: hash ?? null, nonce });
    }
    this.#hasSent = true;
    this.#unseen = 0;
    const answer = (await this.options.deadline.within(
      send(this.rpc, this.transaction),
    )) ?? { kind: "lost", problem: "no answer in time" };
    if (answer.kind === "accepted") {
      this.#errors = [];
      this.#sendProblem = "";
      this.#wasAccepted = true;
      await this.#learnHash(answer.hash);
      return;
    }
    const { kind, problem } = answer;
    this.#errors = kind === "error" ? [...this.#errors, problem] : [];
    this.#sendProblem = `, and sending it failed: ${problem}`;
    this.#trouble(
      kind === "error"
        ? `the node answered the transaction with an error (${problem}); looking for it`
        : `the answer to sending was lost (${problem}); looking for the transaction`,
    );
  }

  /**
   * Signed bytes can be sent as often as one likes. What another one signs is
   * not asked for again once there was an answer, nor by another process: a
   * person may have to press a button each time, and some nodes do not show what
   * waits.
   */
  get #maySendAgain(): boolean {
    return this.transaction.raw === undefined
      ? this.isFresh && !this.#wasAccepted && this.#errors.length === 0
      : this.#errors.length < SEVERAL;
  }

  /**
   * @returns Whether to send again, or how it ends if it is not found once more;
   * undefined if neither can be told yet.
   */
  public async check(): Promise<"send" | FollowOutcome | undefined> {
    const obstacle = await this.options.checkRound();
    if (obstacle === undefined) {
      return this.#maySendAgain ? "send" : this.#givenUp();
    }
    if (await this.#isUnused()) {
      return this.#stopped(obstacle);
    }
    this.#sendProblem = ", though it may be what settled the round";
    return undefined;
  }

  #givenUp(): FollowOutcome | undefined {
    const { hash, from, nonce } = this.transaction;
    const error = this.#errors.at(-1);
    if (this.#unseen < SEVERAL || (this.#hasSent && error === undefined)) {
      return undefined;
    }
    const { status, code, reason } =
      error === undefined
        ? refusal("VAULT_SETTLEMENT_LOST", { from, nonce })
        : new SettlementStopped(
            "refused",
            `The node does not have the transaction, and answered it with an error: ${error}`,
            "VAULT_RPC_ERROR",
          );
    return { kind: "dropped", hash, status, code, reason };
  }

  /**
   * Whether its nonce is free in a block with an obstacle. If it is not, it may
   * be this very transaction that settled the round: look-ups can be behind.
   */
  async #isUnused(): Promise<boolean> {
    const { from, nonce } = this.transaction;
    const head = await this.rpc.blockNumber();
    return (
      (await this.options.checkRound(head)) !== undefined &&
      (await this.rpc.nonce(from, head)) <= nonce
    );
  }

  /** @returns How it ends, or that the node does not have it, if either is so. */
  public async look(): Promise<FollowOutcome | "not-found" | undefined> {
    const { confirmations, deadline } = this.options;
    const head =
      confirmations > 1
        ? await deadline.within(this.rpc.blockNumber())
        : undefined;
    const found = await deadline.within(
      findTransaction(this.rpc, this.transaction, this.#search),
    );
    if (found === undefined) {
      return undefined;
    }
    if (found.kind !== "mined" && this.#receipt !== undefined) {
      this.#trouble(
        `a re-org took the transaction out of block ${this.#receipt.blockNumber}`,
      );
      this.#receipt = undefined;
      this.#confirmations = 0;
    }
    if (found.kind === "not-found") {
      this.#unseen += 1;
      this.#last = `the node does not have it${this.#sendProblem}`;
      if (this.#wasSeen) {
        this.#trouble("the node dropped the transaction");
        this.#wasSeen = false;
      }
      return "not-found";
    }
    this.#unseen = 0;
    this.#errors = [];
    if (found.kind === "replaced") {
      return this.#replaced(found.by, head);
    }
    this.#wasSeen = true;
    await this.#learnHash(found.hash);
    if (found.kind === "pending") {
      this.#last =
        found.hash === undefined
          ? "a transaction with its nonce waits in the node's pool"
          : "it waits in the node's pool";
      return undefined;
    }
    const { hash, receipt } = found;
    const depth = this.#noteReceipt(receipt, head);
    this.#last = `it is in block ${receipt.blockNumber}, with ${depth} of ${confirmations} confirmations`;
    return depth >= confirmations
      ? { kind: "mined", hash, receipt }
      : undefined;
  }

  #replaced(
    by: NonceUser | undefined,
    head: number | undefined,
  ): FollowOutcome | undefined {
    const { hash, nonce, from } = this.transaction;
    const { confirmations } = this.options;
    if (by === undefined) {
      // Nodes behind a balancer differ: ours may be the one.
      this.#last =
        "its nonce is used, and by which transaction could not be seen";
      return undefined;
    }
    const other = `transaction ${by.transaction.hash}`;
    const depth = depthOf(by.block, head);
    if (depth < confirmations) {
      // A re-org may take the other one out again.
      this.#last = `${other} used its nonce, with ${depth} of ${confirmations} confirmations`;
      return undefined;
    }
    return {
      kind: "dropped",
      hash,
      status: "unconfirmed",
      reason: `It was replaced: ${other} of ${from} used its nonce ${nonce}, so it can never be mined.`,
    };
  }

  public fail(error: unknown, step: Step): void {
    const problem = describeProblem(error);
    if (step === "check") {
      this.#sendProblem = `, and it could not be sent again: ${problem}`;
    }
    this.#last = problem;
    this.#trouble(problem);
  }

  /**
   * What was sent a moment ago may still be on its way, so only who sent
   * nothing takes a transaction that is not found for lost.
   */
  #stopped({ status, code, reason }: SettlementStopped): FollowOutcome {
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

  public timedOut(): FollowOutcome {
    const { hash, from, nonce } = this.transaction;
    const what = hash === undefined ? "the transaction" : `transaction ${hash}`;
    return {
      kind: "open",
      hash,
      status: "unconfirmed",
      receipt: this.#receipt,
      reason: `The time is over for ${what} of ${from} with nonce ${nonce}: ${this.#last.replace(/\.$/u, "")}.`,
    };
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

  /** @returns How many blocks hold it. */
  #noteReceipt(receipt: Receipt, head: number | undefined): number {
    const { confirmations: wanted, emit } = this.options;
    const { hash, blockNumber } = receipt;
    if (this.#receipt?.blockHash !== receipt.blockHash) {
      if (this.#receipt !== undefined) {
        this.#trouble(
          `a re-org moved the transaction from block ${this.#receipt.blockNumber} to ${blockNumber}`,
        );
      }
      this.#receipt = receipt;
      emit({ type: "mined", hash, blockNumber });
    }
    const depth = depthOf(blockNumber, head);
    const confirmations = Math.min(depth, wanted);
    if (wanted > 1 && confirmations > this.#confirmations) {
      emit({ type: "confirmed", hash, confirmations, wanted });
    }
    this.#confirmations = confirmations;
    return depth;
  }

  #trouble(message: string): void {
    this.options.emit({ type: "trouble", message });
  }
}

/** Blocks that hold what is in a block, that one included. */
function depthOf(block: number, head: number | undefined): number {
  return Math.max(1, (head ?? block) - block + 1);
}

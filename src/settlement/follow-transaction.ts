import { VaultError } from "../errors.js";
import type { Chain, Receipt } from "../rpc/node.js";
import { Deadline } from "../rpc/deadline.js";
import { send } from "./send.js";
import type { SendAnswer } from "./send.js";
import { NonceSearch, look } from "./find-transaction.js";
import type { Sight, Sought } from "./find-transaction.js";
import type { SettlementStopped } from "./stopped.js";
import type { SettlementEvent } from "./types.js";

/** So many polling intervals a last question may take. */
const LAST_PATIENCE = 5;

/** A settlement that may be on its way. */
export interface Pursuit {
  readonly chain: Chain;
  readonly transaction: Sought;
  readonly confirmations: number;
  readonly deadline: Deadline;
  readonly pollingInterval: number;
  /** False for one that is only to be looked for. */
  readonly maySendAgain: boolean;
  /** Milliseconds that a node gets to mine or queue what it accepted. */
  readonly firstLookAfter: number;
  /**
   * Whether it may be sent once more: same chain, same round, unsettled.
   *
   * @returns Why not, or undefined.
   * @throws VaultError if that cannot be found out now
   */
  readonly checkRound: () => Promise<SettlementStopped | undefined>;
  /** Told a hash that was not known before. */
  readonly onHash: (hash: string) => Promise<void>;
  readonly emit: (event: SettlementEvent) => void;
}

/** `check and send`: once more, if the round still allows it. */
type Step = "send" | "look" | "check and send";

/** Where a pursuit ended. */
export type Pursued =
  | { readonly kind: "mined"; readonly hash: string; readonly receipt: Receipt }
  /** Will not be sent again, and the chain does not have it. */
  | {
      readonly kind: "over";
      readonly hash: string | undefined;
      readonly status: "nothing-to-do" | "refused" | "reverted" | "unconfirmed";
      readonly reason: string;
    }
  /** Time ran out; it may still be mined. */
  | {
      readonly kind: "open";
      readonly hash: string | undefined;
      readonly receipt: Receipt | undefined;
      readonly reason: string;
    };

/**
 * Follows a transaction until it is mined deep enough, can never be mined, or
 * time is over; sends it again where the node lost it. Never throws.
 *
 * @param start `send` if the round was checked just now, else `look`.
 */
export async function pursue(
  pursuit: Pursuit,
  start: "send" | "look",
): Promise<Pursued> {
  const { deadline, pollingInterval, firstLookAfter } = pursuit;
  const state = new PursuitState(pursuit, start === "send");
  let next: Step = start;
  for (;;) {
    const step = next;
    let obstacle: SettlementStopped | undefined;
    let sends = step === "send";
    // Whatever fails, the next thing is to look, never to send.
    next = "look";
    try {
      if (step === "check and send") {
        // In an object, so that "no obstacle" is told from "no answer in time",
        // after which nothing is known of the round and nothing is sent.
        const checked = await deadline.within(
          pursuit.checkRound().then((found) => ({ obstacle: found })),
        );
        obstacle = checked?.obstacle;
        sends =
          checked !== undefined && obstacle === undefined && !deadline.isOver;
      }
      if (sends) {
        await state.note(await sendOnce(state, pursuit));
        await deadline.pause(firstLookAfter);
      }
      const sight = await state.see();
      const end = state.judge(sight);
      if (end !== undefined) {
        return end;
      }
      if (sight?.kind === "unknown") {
        // Looked for once more after the obstacle was found: the round may be
        // settled by the very transaction that seemed lost.
        if (obstacle !== undefined) {
          return state.stopped(obstacle);
        }
        if (state.maySendAgain && pursuit.maySendAgain) {
          next = "check and send";
        }
      }
    } catch (error) {
      state.fail(error, step);
    }
    if (deadline.isOver) {
      return await state.timedOut();
    }
    await deadline.pause(pollingInterval);
  }
}

async function sendOnce(
  { transaction }: PursuitState,
  { chain, deadline }: Pursuit,
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

/** What a pursuit has learned so far. */
class PursuitState {
  public transaction: Sought;
  readonly #pursuit: Pursuit;
  readonly #search = new NonceSearch();
  #receipt: Receipt | undefined;
  #depth = 0;
  #refusal: string | undefined;
  #wasSeen = false;
  #hasSent = false;
  /** A send may have reached some node's pool, whatever later sends hear. */
  #maySitSomewhere: boolean;
  #wasAccepted = false;
  #sendProblem = "";
  #last = "nothing was seen of it yet";

  /** @param isFresh False if it may have been sent before this pursuit. */
  constructor(pursuit: Pursuit, isFresh: boolean) {
    this.#pursuit = pursuit;
    this.#maySitSomewhere = !isFresh;
    this.transaction = pursuit.transaction;
  }

  /**
   * Signed bytes can be sent as often as one likes. What another one signs is
   * not asked for again once it was taken: a person may have to press a button
   * each time, and some nodes do not show what waits.
   */
  public get maySendAgain(): boolean {
    return this.transaction.raw !== undefined || !this.#wasAccepted;
  }

  public async note(answer: SendAnswer): Promise<void> {
    this.#hasSent = true;
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

  /** @returns Undefined if the deadline came first. */
  public async see(): Promise<Sight | undefined> {
    const { chain, confirmations, deadline } = this.#pursuit;
    const head =
      confirmations > 1
        ? await deadline.within(chain.blockNumber())
        : undefined;
    const sight = await deadline.within(
      look(chain, this.transaction, this.#search),
    );
    if (sight === undefined) {
      return undefined;
    }
    if (sight.kind === "mined" || sight.kind === "waiting") {
      this.#wasSeen = true;
      await this.#learnHash(sight.hash);
    }
    if (sight.kind === "mined") {
      this.#noteReceipt(sight.receipt);
      this.#depth =
        head === undefined
          ? 1
          : Math.max(1, head - sight.receipt.blockNumber + 1);
    } else if (this.#receipt !== undefined) {
      this.#trouble(
        `a re-org took the transaction out of block ${this.#receipt.blockNumber}`,
      );
      this.#receipt = undefined;
    }
    return sight;
  }

  /** @returns The end, or undefined to go on. */
  public judge(sight: Sight | undefined): Pursued | undefined {
    const { hash, nonce, from } = this.transaction;
    switch (sight?.kind) {
      case "mined":
        this.#last = `it is in block ${sight.receipt.blockNumber}, with ${this.#depth} of ${this.#pursuit.confirmations} confirmations`;
        return this.#depth >= this.#pursuit.confirmations
          ? { kind: "mined", hash: sight.hash, receipt: sight.receipt }
          : undefined;
      case "waiting":
        this.#last = "it waits in the node's pool";
        return undefined;
      case "replaced":
        if (sight.by === undefined) {
          // Behind a load balancer the nonce can be newer than the receipts:
          // without the other transaction at hand, ours may be the one.
          this.#last =
            "its nonce is used, and by which transaction could not be seen";
          return undefined;
        }
        return {
          kind: "over",
          hash,
          status: "unconfirmed",
          reason: `It was replaced: transaction ${sight.by} of ${from} used its nonce ${nonce}, so it can never be mined.`,
        };
      case "unknown":
        if (this.#refusal !== undefined) {
          return {
            kind: "over",
            hash,
            status: "refused",
            reason: `The node did not take the transaction: ${this.#refusal}`,
          };
        }
        this.#noteDropped();
        return undefined;
      case undefined:
        return undefined;
    }
  }

  public fail(error: unknown, step: Step): void {
    const problem = VaultError.isVaultError(error)
      ? error.shortMessage
      : String(error);
    if (step === "check and send") {
      this.#sendProblem = `, and it could not be sent again: ${problem}`;
    }
    this.#last = problem;
    this.#trouble(problem);
  }

  /**
   * What was sent a moment ago may still be on its way, so only a pursuit that
   * sent nothing itself takes an unknown transaction for lost.
   */
  public stopped({ status, reason }: SettlementStopped): Pursued {
    const { hash, from, nonce } = this.transaction;
    const found = `${reason} The node does not have the transaction that was sent before, and it is not sent again.`;
    return this.#hasSent
      ? { kind: "open", hash, receipt: undefined, reason: found }
      : {
          kind: "over",
          hash,
          status,
          reason: `${found} Should another node still have it, the next transaction of ${from}, with the same nonce ${nonce}, takes its place.`,
        };
  }

  public async timedOut(): Promise<Pursued> {
    const warning = await this.#describeDanger();
    if (warning !== "") {
      this.#trouble(warning.trim());
    }
    return {
      kind: "open",
      hash: this.transaction.hash,
      receipt: this.#receipt,
      reason: `${warning}The time is over: ${this.#last.replace(/\.$/u, "")}${await this.#describeGap()}.`,
    };
  }

  /** What waits names no round, and settles the one that is current by then. */
  async #describeDanger(): Promise<string> {
    const { from, nonce } = this.transaction;
    const { chain, checkRound, pollingInterval } = this.#pursuit;
    if (this.#receipt !== undefined) {
      return "";
    }
    const patience = new Deadline(LAST_PATIENCE * pollingInterval);
    try {
      const obstacle = await patience.within(checkRound());
      if (obstacle === undefined) {
        return "";
      }
      // It may be this very transaction that settled the round.
      const sight = await patience.within(
        look(chain, this.transaction, this.#search),
      );
      return sight?.kind === "waiting" || sight?.kind === "unknown"
        ? `WARNING: ${obstacle.reason} The transaction may still be mined, and then settles whatever round is the latest. To cancel it, let another transaction of ${from} with nonce ${nonce} take its place. `
        : "";
    } catch {
      return "";
    }
  }

  /** A node keeps what cannot be mined yet and does not say so. */
  async #describeGap(): Promise<string> {
    const { from, nonce } = this.transaction;
    const { chain, pollingInterval } = this.#pursuit;
    if (this.#receipt !== undefined || !this.#wasSeen) {
      return "";
    }
    try {
      const next = await new Deadline(LAST_PATIENCE * pollingInterval).within(
        chain.nonce(from, "latest"),
      );
      return next !== undefined && next < nonce
        ? ` behind a gap: its nonce is ${nonce}, and the account's next one is ${next}`
        : "";
    } catch {
      return "";
    }
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
    this.#pursuit.emit({ type: "hash", hash });
    await this.#pursuit.onHash(hash);
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
    this.#pursuit.emit({ type: "mined", hash, blockNumber });
  }

  #noteDropped(): void {
    this.#last = `the node does not have it${this.#sendProblem}`;
    if (this.#wasSeen) {
      this.#trouble("the node dropped the transaction");
      this.#wasSeen = false;
    }
  }

  #trouble(message: string): void {
    this.#pursuit.emit({ type: "trouble", message });
  }
}

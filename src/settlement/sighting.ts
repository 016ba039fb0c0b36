import { isRecent } from "./freshness.js";
import type { Hex } from "../protocol/index.js";
import type { SeenTransaction } from "../rpc/transactions.js";
import type { RequestedReplacement } from "./options.js";
import type { Mined, Stopped } from "./result.js";
import type { SendAnswer } from "./send.js";
import type { SentTransactions } from "./transaction.js";

/** Transactions of a settlement, and the rules for others in their place. */
export interface Plan {
  readonly network: string;
  /** Oldest first; all have the same account and nonce. */
  readonly transactions: SentTransactions;
  /** Latest block before the first of them was sent. */
  readonly sentAfterBlock: number;
  /**
   * Time of the check that allows the first send, Unix milliseconds; undefined if a
   * transaction may have left already: it is searched for first.
   */
  readonly checkedAt?: number | undefined;
  readonly confirmations: number;
  /** Replacement that a person asks for. */
  readonly requestedReplacement?: RequestedReplacement | undefined;
  /** Milliseconds; undefined: fees are never raised without a request. */
  readonly timeBeforeBumpingFees?: number | undefined;
  readonly maxFeeBumps: number;
}

export type FoundTransaction =
  | Mined
  /** In the node's pool; the hash is undefined if only the nonce is used there. */
  | { readonly kind: "pending"; readonly hash: Hex | undefined }
  | {
      readonly kind: "used";
      /**
       * User of the nonce: `nothing` if no transaction of all blocks is it, `unseen` if
       * the search is not finished.
       */
      readonly by: NonceUser | "nothing" | "unseen";
    }
  /** The node has none of them, and their nonce is free. */
  | { readonly kind: "unknown" };

/** Mined transaction that used a nonce. */
export interface NonceUser {
  readonly transaction: SeenTransaction;
  readonly block: number;
}

/** State of the search for the transaction that used the nonce. */
export interface Scan {
  /** Next block to search. */
  readonly next: number;
  /** Times in a row that every block was searched, and none has it. */
  readonly complete: number;
}

/** Result of one look, and of the action before it. */
export interface Sighting {
  /** End of the look, Unix milliseconds. */
  readonly at: number;
  /** True if the time of the settlement is over. */
  readonly isOver: boolean;
  readonly transaction:
    | FoundTransaction
    | { readonly kind: "unread"; readonly problem: string };
  /** State of the search for the transaction that used the nonce. */
  readonly scan?: Scan | undefined;
  /** Number of the newest block; read with more than one confirmation. */
  readonly head?: number | undefined;
  /** Read if the transaction is unknown, or if that was asked for. */
  readonly round?: RoundSighting | undefined;
  /** Answer to the transaction that was sent before this look. */
  readonly sent?: SendAnswer | undefined;
  /** Replacement that was tried before this look. */
  readonly replacement?: Replacement | undefined;
}

export type RoundSighting =
  | {
      readonly kind: "open";
      /** Unix milliseconds. */
      readonly askedAt: number;
    }
  /** It is settled, another one is the latest, or it has not ended yet. */
  | {
      readonly kind: "closed";
      readonly obstacle: Stopped;
      /** True if the nonce is unused in a block that has the obstacle. */
      readonly isNonceFree: boolean;
    }
  | { readonly kind: "unread"; readonly problem: string };

export type Replacement =
  | { readonly kind: "made"; readonly hash: Hex }
  /** A limit forbids it. */
  | { readonly kind: "forbidden"; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string };

/** All sightings of a settlement, oldest first. */
export type History = readonly Sighting[];

interface Efforts {
  /** Looks in a row that did not find it, since it was seen or sent. */
  readonly looksInVain: number;
  /** Refusals in a row of the latest sends. */
  readonly refusals: ReadonlyArray<Extract<SendAnswer, { kind: "error" }>>;
  readonly sends: number;
}

export function effortsOf(history: History): Efforts {
  let looksInVain = 0;
  let refusals: Array<Extract<SendAnswer, { kind: "error" }>> = [];
  let sends = 0;
  for (const { sent, transaction } of history) {
    if (sent !== undefined) {
      looksInVain = 0;
      sends += 1;
      refusals = sent.kind === "error" ? [...refusals, sent] : [];
    }
    if (transaction.kind === "unknown") {
      looksInVain += 1;
    } else if (transaction.kind !== "unread") {
      looksInVain = 0;
      refusals = [];
    }
  }
  return { looksInVain, refusals, sends };
}

/** True if this process made it and has not sent it yet, and no look found it. */
export function isUnsent({ checkedAt }: Plan, history: History): boolean {
  return (
    checkedAt !== undefined &&
    !isSentHere(history) &&
    !history.some((one) => wasSeen(one))
  );
}

/** True if this process sent it, also if that was refused or not answered. */
export function isSentHere(history: History): boolean {
  return history.some(({ sent }) => sent !== undefined);
}

export function wasSeen({ transaction: { kind } }: Sighting): boolean {
  return kind === "mined" || kind === "pending" || kind === "used";
}

/** True if the round was seen open lately. */
export function isFresh(
  round: RoundSighting | undefined,
  now: number,
): boolean {
  return round?.kind === "open" && isRecent(round.askedAt, now);
}

/** Counts the confirmations that a block has, itself included. */
export function depthOf(block: number, head: number | undefined): number {
  return Math.max(1, (head ?? block) - block + 1);
}

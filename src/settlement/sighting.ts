import type { Stopped } from "../settlement-call/outcome.js";
import type { VaultError } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import type { SeenTransaction } from "../rpc/transactions.js";
import type { Mined } from "./result.js";
import type { SendAnswer } from "./send.js";
import type { SentTransactions } from "./transaction.js";

/** What a settlement learns: of the chain, of the journal, and of what it did itself. */
export type Sighting =
  | Look
  /** The round, read as the last request before a send. */
  | { readonly kind: "round"; readonly round: RoundSighting }
  | { readonly kind: "sent"; readonly answer: SendAnswer }
  | {
      readonly kind: "replacement";
      /** Unix milliseconds. */
      readonly at: number;
      readonly replacement: Replacement;
    }
  /** The transactions that the journal has by now. */
  | { readonly kind: "journal"; readonly transactions: SentTransactions };

/** Result of one look at the chain. */
export interface Look {
  readonly kind: "look";
  /** True if the time of the settlement is over. */
  readonly isOver: boolean;
  readonly transaction:
    | FoundTransaction
    | { readonly kind: "unread"; readonly problem: string };
  /** Continues the search for the transaction that used the nonce. */
  readonly scan?: Scan | undefined;
  /** Number of the newest block; read with more than one confirmation. */
  readonly head?: number | undefined;
  /** Read if no transaction of the settlement is found. */
  readonly round?: RoundSighting | undefined;
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

export type RoundSighting =
  | { readonly kind: "open" }
  /** It is settled, another one is the latest, or it has not ended yet. */
  | {
      readonly kind: "closed";
      readonly obstacle: Stopped;
      /** True if the nonce is unused in a block that has the obstacle. */
      readonly isNonceFree: boolean;
    }
  | {
      readonly kind: "unread";
      readonly problem: string;
      readonly error?: VaultError | undefined;
    };

export type Replacement =
  | { readonly kind: "made"; readonly hash: Hex }
  /** A limit forbids it. */
  | { readonly kind: "forbidden"; readonly problem: string }
  /** A person was asked and did not agree. */
  | { readonly kind: "declined"; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string };

/** Counts the confirmations that a block has, itself included. */
export function depthOf(block: number, head: number | undefined): number {
  return Math.max(1, (head ?? block) - block + 1);
}

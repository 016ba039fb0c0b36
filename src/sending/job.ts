import type { VaultErrorCode } from "../errors.js";
import type { Stopped } from "../guard/outcome.js";
import type { Hex } from "../protocol/index.js";
import type { Receipt } from "../rpc/transactions.js";
import type { Mined, Sought } from "./look.js";
import type { RequestedReplacement, SignedReplacement } from "./replace.js";
import type { SentTransaction, SentTransactions } from "./transaction.js";

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

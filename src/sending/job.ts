// A transaction to be mined: by which rules and in which time, what happens on the way, and how
// it ends.

import type { VaultError, VaultErrorCode } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import type { Receipt } from "../rpc/transactions.js";
import type {
  RequestedReplacement,
  SentTransaction,
  SentTransactions,
  SignedReplacement,
} from "./transaction.js";

/**
 * Reads the round, as the last request before a transaction leaves.
 *
 * @param at Default: the newest block, which must be recent.
 * @returns The obstacle to settling the round, if there is one.
 * @throws VaultError VAULT_STALE_HEAD, VAULT_RPC_TIMEOUT, and other errors of a request
 */
export type CheckRound = (at?: number) => Promise<Stopped | undefined>;

/** The time that following may take; the caller's deadline or a signal may end it before. */
export class TimeLimit {
  public readonly signal: AbortSignal;
  /** Kept: Node.js 22 collects a deadline that only `AbortSignal.any()` refers to. */
  readonly #signals: AbortSignal[];
  readonly #end: number;

  constructor(milliseconds: number, { limits }: Pick<RpcClient, "limits">) {
    const now = performance.now();
    this.#end = Math.min(now + milliseconds, Math.max(now, limits.deadline));
    const over = AbortSignal.timeout(Math.ceil(this.#end - now));
    this.#signals = [over, ...limits.signals];
    this.signal = AbortSignal.any(this.#signals);
  }

  /** Milliseconds. */
  public get remaining(): number {
    return Math.max(0, this.#end - performance.now());
  }

  public get isOver(): boolean {
    return this.#signals.some(({ aborted }) => aborted) || this.remaining === 0;
  }
}

/** What is to be mined, by which rules, and the journal. */
export interface Job {
  /** Without retries: each look is one. */
  readonly rpc: RpcClient;
  readonly checkRound: CheckRound;
  readonly confirmations: number;
  /** Latest block before the first transaction was sent. */
  readonly sentAfterBlock: number;
  /** The newest is sent. */
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

/** Why a transaction is not sent: the end, unless one may have left before. */
export interface Stopped {
  readonly kind: "stopped";
  readonly status: "nothing-to-do" | "refused" | "reverted";
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
  /** True if the round has not ended yet: the obstacle goes away with time. */
  readonly isEarly?: boolean;
  /** Error with `reason` as its message. */
  readonly error?: VaultError;
}

export function refusedBy(error: VaultError): Stopped {
  const { code, message: reason } = error;
  return { kind: "stopped", status: "refused", code, reason, error };
}

export function nothingToDo(reason: string): Stopped {
  return { kind: "stopped", status: "nothing-to-do", reason };
}

export interface Mined {
  readonly kind: "mined";
  readonly hash: Hex;
  readonly receipt: Receipt;
  /** The one of the transactions that was mined. */
  readonly transaction: SentTransaction;
}

/** How it ended: before anything was sent, or with its transactions. */
export type End =
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

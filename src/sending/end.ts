// How a settlement ends, and what happens on the way.

import type { VaultError, VaultErrorCode } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import type { Receipt } from "../rpc/transactions.js";
import type { SentTransaction } from "./transaction.js";

/** An obstacle to sending: the end of what was not sent before, else a part of its end. */
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

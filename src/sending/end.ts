// How the sending of a transaction ends.

import type { VaultError, VaultErrorCode } from "../errors.js";
import type { Hex } from "../protocol/index.js";
import type { Receipt } from "../rpc/transactions.js";
import type { SentTransaction } from "./transaction.js";

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

import type { Receipt } from "../rpc/transactions.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import type { SentTransaction } from "./transaction.js";
import type { SettlementStatus } from "./types.js";

/** End of a settlement: before anything was sent, or with its transactions. */
export type Outcome =
  | Stopped
  | {
      readonly kind: "mined";
      readonly hash: string;
      readonly receipt: Receipt;
      /** The one of the transactions that was mined. */
      readonly transaction: SentTransaction;
    }
  | (Reason & {
      /** `open`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "open";
      readonly hash: string | undefined;
      readonly receipt?: Receipt | undefined;
      /** True if it was dropped and its nonce is not used. */
      readonly mayStillArrive?: boolean | undefined;
    });

interface Reason {
  readonly status: Exclude<SettlementStatus, "settled">;
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
}

/** Nothing was sent. */
export interface Stopped extends Reason {
  readonly kind: "stopped";
  /** Hash of an earlier transaction. */
  readonly hash?: string | undefined;
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

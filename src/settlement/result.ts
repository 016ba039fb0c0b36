import { isHexString } from "ethers";

import { refusesSettlement } from "../errors.js";
import type { VaultError, VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex, VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { BlockInfo } from "../rpc/blocks.js";
import type { Receipt } from "../rpc/transactions.js";
import type { Simulation } from "../simulation/types.js";
import type { JournalEntry } from "./journal-file.js";
import type { SentTransaction } from "./transaction.js";
import type { Settlement, SettlementStatus } from "./types.js";

/** End of a settlement: before anything was sent, or with its transactions. */
export type Outcome =
  | Stopped
  | Mined
  | (Reason & {
      /** `undecided`: it may still be mined; `dropped`: it cannot be, or was lost. */
      readonly kind: "dropped" | "undecided";
      readonly hash: Hex | undefined;
      readonly receipt?: Receipt | undefined;
      /** True if it was dropped and its nonce is not used. */
      readonly mayStillArrive?: boolean | undefined;
    });

export interface Mined {
  readonly kind: "mined";
  readonly hash: Hex;
  readonly receipt: Receipt;
  /** The one of the transactions that was mined. */
  readonly transaction: SentTransaction;
}

interface Reason {
  readonly status: Exclude<SettlementStatus, "settled">;
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
}

/** Nothing was sent. */
export interface Stopped extends Reason {
  readonly kind: "stopped";
  /** Hash of an earlier transaction. */
  readonly hash?: Hex | undefined;
  /** True if the round has not ended yet: the obstacle passes with time. */
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

/** @throws The same error, if it does not refuse a settlement. */
export function refusalOf(thrown: unknown): Stopped {
  if (!refusesSettlement(thrown)) {
    throw thrown;
  }
  // A detail of VAULT_SETTLEMENT_UNFINISHED.
  const { transaction } = thrown.details;
  const hash = isHexString(transaction, 32) ? transaction : undefined;
  return { ...refusedBy(thrown), hash };
}

/** Settlement with its chain, as the plugin and the tasks take it. */
export interface SettlementResult {
  readonly settlement: Settlement;
  readonly chainId: number;
  /** Block of the round afterwards, else of the last read; undefined if none was read. */
  readonly block?: BlockInfo | undefined;
  /** False if a later check can find more. */
  readonly isFinal: boolean;
  readonly refusal?: VaultError | undefined;
  /** Reason of a settlement to resume, without the advice for JavaScript. */
  readonly openReason?: string;
}

/** The known values of a settlement before it is sent. */
export interface KnownBefore {
  readonly round?: VaultRound | undefined;
  readonly guard?: Address | undefined;
  readonly preview?: Simulation | null | undefined;
}

/** The known values of a settlement that stops: each only from its step on. */
export type KnownAtStop = KnownBefore &
  Partial<Pick<SettlementResult, "block" | "chainId">>;

/** The known values of a settlement's end; the others are null. */
export type KnownValues = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
};

export function toSettlement(
  { status, differences = null, ...known }: KnownValues,
  { round, guard, preview = null }: KnownBefore,
): Settlement {
  return {
    status,
    code: known.code ?? null,
    reason: known.reason ?? null,
    hash: known.hash ?? null,
    hashes:
      known.hashes ??
      (typeof known.hash === "string" && status !== "nothing-to-do"
        ? [known.hash]
        : []),
    guard: guard ?? null,
    blockNumber: known.blockNumber ?? null,
    gasUsed: known.gasUsed ?? null,
    before: round ?? null,
    after: known.after ?? null,
    preview: preview === null ? null : { ...preview, differences },
    differences: preview === null ? null : differences,
  };
}

/** Describes a settlement that was finished earlier, and the current round. */
export function describeFinished(
  { round, mined, guard }: JournalEntry,
  current: VaultRound,
): Settlement {
  const end =
    mined === undefined
      ? "without a transaction that was mined"
      : `${mined.status} in block ${mined.blockNumber}`;
  const now = isSameRound(round, current)
    ? "It is the current round still"
    : `The current round is ${describeRound(current)}`;
  const settled = current.settled ? "settled" : "not settled";
  const known = {
    status: "nothing-to-do",
    reason: `The settlement of ${describeRound(round)} is finished: ${end}. ${now}, ${settled}.`,
    hash: mined?.hash,
    blockNumber: mined?.blockNumber,
  } as const;
  return toSettlement(known, { round, guard });
}

/** Result of a settlement that sent nothing. */
export async function stopped(
  why: Stopped,
  vault: VaultHost,
  known: KnownAtStop,
): Promise<SettlementResult> {
  return {
    settlement: toSettlement(why, known),
    isFinal: true,
    chainId: known.chainId ?? (await vault.chainId()),
    block: known.block,
    refusal: why.error,
  };
}

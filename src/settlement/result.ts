import { isHexString } from "ethers";

import { refusesSettlement } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Address, VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { refusedBy } from "../guard/outcome.js";
import type { Stopped } from "../guard/outcome.js";
import type { Simulation } from "../simulation/types.js";
import type { JournalEntry } from "../sending/journal.js";
import type { Settlement } from "./types.js";

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
  readonly openReason?: string | undefined;
}

/** What is known before a settlement is sent; each value only from its step on. */
export interface Known extends Partial<
  Pick<SettlementResult, "block" | "chainId">
> {
  readonly round?: VaultRound | undefined;
  readonly guard?: Address | undefined;
  readonly preview?: Simulation | null | undefined;
}

/** A step of a settlement that goes on, and what is known then. */
export interface Next {
  readonly kind: "next";
  readonly known: Known;
}

/** A step that ends the settlement before anything was sent. */
export interface Stop {
  readonly kind: "stop";
  readonly known: Known;
  readonly why: Stopped;
}

export function stop(known: Known, why: Stopped): Stop {
  return { kind: "stop", known, why };
}

/**
 * Takes a step. An error with `refuses` in errors.ts stops the settlement; others are
 * thrown: nothing has left yet.
 */
export async function orStop<Taken extends Next>(
  known: Known,
  take: () => Promise<Stop | Taken>,
): Promise<Stop | Taken> {
  try {
    return await take();
  } catch (error) {
    return stop(known, refusalOf(error));
  }
}

/** The known values of a settlement's end; the others are null. */
export type KnownValues = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
};

export function toSettlement(
  { status, differences = null, ...known }: KnownValues,
  { round, guard, preview = null }: Known,
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
    cost: known.cost ?? null,
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
  vault: VaultHost,
  { known, why }: Stop,
): Promise<SettlementResult> {
  return {
    settlement: toSettlement(why, known),
    isFinal: true,
    chainId: known.chainId ?? (await vault.chainId()),
    block: known.block,
    refusal: why.error,
  };
}

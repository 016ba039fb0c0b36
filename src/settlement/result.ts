import type { BlockInfo } from "../rpc/blocks.js";
import { isHexString } from "ethers";

import { refusesSettlement } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { Simulation } from "../simulation/types.js";
import type { JournalEntry } from "./journal.js";
import type { Observation } from "./observe.js";
import { refusedBy } from "./outcome.js";
import type { Stopped } from "./outcome.js";
import type { PreviewDifference, Settlement } from "./types.js";

/** Settlement with its chain, as the plugin and the tasks take it. */
export interface SettlementResult {
  readonly settlement: Settlement;
  readonly chainId: number;
  /** Block of the transaction, if it was seen. */
  readonly block?: BlockInfo | undefined;
  /** False if a later check can find more. */
  readonly isFinal: boolean;
  readonly refusal?: VaultError | undefined;
  /** Reason of a settlement to resume, without the advice for JavaScript. */
  readonly openReason?: string;
}

/** The known values of a settlement; the others are null. */
export type KnownValues = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
} & { readonly differences?: readonly PreviewDifference[] | null };

export function toSettlement(
  { status, differences = null, ...known }: KnownValues,
  before: VaultRound | undefined,
  previewed: Simulation | null,
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
    guard: known.guard ?? null,
    blockNumber: known.blockNumber ?? null,
    gasUsed: known.gasUsed ?? null,
    before: before ?? null,
    after: known.after ?? null,
    preview: previewed === null ? null : { ...previewed, differences },
    differences: previewed === null ? null : differences,
  };
}

export function withGuard(
  result: SettlementResult,
  guard: string | null,
): SettlementResult {
  return { ...result, settlement: { ...result.settlement, guard } };
}

/** Describes a settlement that was finished earlier, and the current round. */
export function describeFinished(
  { round, mined }: JournalEntry,
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
  return toSettlement(known, round, null);
}

export function refusalOf(error: unknown): Stopped {
  if (!refusesSettlement(error)) {
    throw error;
  }
  // A detail of VAULT_SETTLEMENT_UNFINISHED.
  const { transaction } = error.details;
  const hash = isHexString(transaction, 32) ? transaction : undefined;
  return { ...refusedBy(error), hash };
}

/** Result of a settlement that sent nothing. */
export async function stopped(
  why: Stopped,
  vault: VaultHost,
  seen: Observation | undefined,
  simulation: Simulation | null,
): Promise<SettlementResult> {
  const chainId = seen?.chainId ?? (await vault.chainId());
  const settlement = toSettlement(why, seen?.round, simulation);
  return {
    settlement,
    isFinal: true,
    chainId,
    block: seen?.block,
    refusal: why.error,
  };
}

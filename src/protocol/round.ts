// Rounds, and the formats that need ethers: units.ts has none, since each start of Hardhat loads it.

import { formatUnits } from "ethers";

import type { VaultRound } from "./readings.js";
import { describeTime, groupDigits, units } from "./units.js";

/** Example: `5,000,000.25`. A whole number has no `.0`. */
export function scale(value: bigint, decimals: number): string {
  return groupDigits(toDecimal(value, decimals));
}

/** The same without grouped digits, for programs. */
export function toDecimal(value: bigint, decimals: number): string {
  return formatUnits(value, decimals).replace(/\.0$/u, "");
}

export const NATIVE_DECIMALS = 18;

export function formatNative(wei: bigint): string {
  return scale(wei, NATIVE_DECIMALS);
}

/** A price of gas. Example: `12.5 gwei`. */
export function formatGasPrice(wei: bigint): string {
  return wei < 100_000n ? `${wei} wei` : `${scale(wei, 9)} gwei`;
}

/**
 * The values that identify a round, because the contract gives it no id. Its end is none
 * of them: a contract may move it, and a settlement may write when it was.
 */
export type RoundIdentity = Pick<VaultRound, "startTime" | "strikePrice">;

export function isSameRound(one: RoundIdentity, other: RoundIdentity): boolean {
  return (
    one.startTime === other.startTime && one.strikePrice === other.strikePrice
  );
}

export const NO_ROUND = "There is no round yet: its end is 0.";

/**
 * What became of a round, by a later reading:
 *
 * - `settled`, `open`: it is the latest still.
 * - `followed`: a round with a later start is the latest, so it was settled.
 * - `replaced`: the latest has the same start and another strike price, an earlier start, or
 *   only zeros. That settles nothing.
 */
export type Fate = "followed" | "open" | "replaced" | "settled";

export function fateOf(round: RoundIdentity, later: VaultRound): Fate {
  if (isSameRound(round, later)) {
    return later.settled ? "settled" : "open";
  }
  return later.startTime > round.startTime ? "followed" : "replaced";
}

/** Null if there is no round yet. The timestamp is a block's, in Unix seconds. */
export function hasEnded(
  { endTime }: Pick<VaultRound, "endTime">,
  timestamp: number,
): boolean | null {
  return endTime === 0n ? null : BigInt(timestamp) >= endTime;
}

export function describeRound({
  startTime,
  endTime,
  strikePrice,
}: Pick<VaultRound, "startTime" | "endTime" | "strikePrice">): string {
  return `the round from ${describeTime(startTime)} to ${describeTime(endTime)} with strike price ${scale(strikePrice, units.price.decimals)}`;
}

export function describeOutcome(round: VaultRound): string {
  const { settled, settledPrice, settledAmount } = round;
  return `${describeRound(round)}${settled ? `, settledPrice ${settledPrice}, settledAmount ${settledAmount}` : ""}`;
}

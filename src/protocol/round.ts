import { formatUnits } from "ethers";

import type { VaultRound } from "./index.js";
import { describeTime } from "./time.js";

/**
 * The values that differ from round to round. `settleAll` names no round, so this is
 * compared before every broadcast and after mining.
 */
export type RoundIdentity = Pick<
  VaultRound,
  "startTime" | "endTime" | "strikePrice"
>;

/** The same text for the same round, and no other. */
export function identityOf(round: RoundIdentity): string {
  return [round.startTime, round.endTime, round.strikePrice].join();
}

export function isSameRound(one: RoundIdentity, other: RoundIdentity): boolean {
  return identityOf(one) === identityOf(other);
}

/** @param timestamp Of a block, Unix seconds. */
export function hasEnded(
  { endTime }: Pick<VaultRound, "endTime">,
  timestamp: number,
): boolean {
  return BigInt(timestamp) >= endTime;
}

/** A round in a sentence. */
export function describeRound({
  startTime,
  endTime,
  strikePrice,
}: RoundIdentity): string {
  const price = formatUnits(strikePrice, 18).replace(/\.0$/u, "");
  return `the round from ${describeTime(startTime)} to ${describeTime(endTime)} with strike price ${price}`;
}

/** The same, and how it was settled. */
export function describeOutcome(round: VaultRound): string {
  const { settled, settledPrice, settledAmount } = round;
  return `${describeRound(round)}${settled ? `, settledPrice ${settledPrice}, settledAmount ${settledAmount}` : ""}`;
}

import { formatUnits } from "ethers";

import type { VaultRound } from "../protocol/index.js";

/**
 * What tells one round from another. `settleAll` names no round, so this is
 * compared before every broadcast and after mining.
 */
export type RoundIdentity = Pick<
  VaultRound,
  "startTime" | "endTime" | "strikePrice"
>;

export function isSameRound(one: RoundIdentity, other: RoundIdentity): boolean {
  return (
    one.startTime === other.startTime &&
    one.endTime === other.endTime &&
    one.strikePrice === other.strikePrice
  );
}

/** A round in a sentence. */
export function describeRound({
  startTime,
  endTime,
  strikePrice,
}: RoundIdentity): string {
  return `the round from ${startTime} to ${endTime} (Unix seconds) with strike price ${formatUnits(strikePrice, 18)}`;
}

import { formatUnits } from "ethers";

import { units } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";

/** What identifies a round, and how it was settled, in one line. */
export function describeRound(round: VaultRound): string {
  const { startTime, endTime, strikePrice, settled } = round;
  const result = settled
    ? `, settledPrice ${round.settledPrice}, settledAmount ${round.settledAmount}`
    : "";
  return `startTime ${startTime}, endTime ${endTime}, strikePrice ${formatUnits(strikePrice, units.price.decimals)}${result}`;
}

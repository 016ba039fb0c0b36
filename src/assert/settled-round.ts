import { formatUnits } from "ethers";

import { checkValue } from "../mocks/values.js";
import { units } from "../protocol/index.js";
import { describeOutcome, isSameRound } from "../protocol/round.js";
import { requireVault } from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { readAroundTransaction } from "./sent-transaction.js";

export async function checkSettlement(
  vault: unknown,
  transaction: unknown,
): Promise<Verdict> {
  const { hash, before, after } = await readAroundTransaction(
    vault,
    transaction,
    async (client, options) => await client.getLatestRoundInfo(options),
  );
  const reason = before.settled
    ? `it was settled before (${describeOutcome(before)})`
    : !isSameRound(before, after)
      ? `another round took its place\n  before: ${describeOutcome(before)}\n   after: ${describeOutcome(after)}`
      : after.settled
        ? undefined
        : `it is still not settled (${describeOutcome(after)})`;
  return {
    pass: reason === undefined,
    message:
      reason === undefined
        ? `expected transaction ${hash} not to settle the vault's round, but it did (${describeOutcome(after)})`
        : `expected transaction ${hash} to settle the vault's round, but ${reason}`,
    expected: { before: { ...before, settled: false }, settled: true },
    actual: { before, settled: after.settled },
    round: after,
    // The round may have been settled first.
    isUndecided: !before.settled && !isSameRound(before, after),
  };
}

export async function checkSettledRound(vault: unknown): Promise<Verdict> {
  const round = await (await requireVault(vault)).getLatestRoundInfo();
  const [wanted, found] = round.settled
    ? ["not to be settled", "it is"]
    : ["to be settled", "it is not"];
  return {
    pass: round.settled,
    message: `expected the vault's latest round ${wanted}, but ${found} (${describeOutcome(round)})`,
    expected: { ...round, settled: true },
    actual: round,
    round,
  };
}

/** Values that a round is settled with, by the word that assertions have for them. */
export const settledValues = {
  price: "settledPrice",
  amount: "settledAmount",
} as const;

export type SettledField = (typeof settledValues)[keyof typeof settledValues];

/** Checks a value of a settled round; returns other verdicts as they are. */
export function checkSettledWith(
  found: Verdict,
  field: SettledField,
  value: unknown,
): Verdict {
  const expected = checkValue({ type: "uint256", unit: "raw" }, value, field);
  const { pass, round } = found;
  if (!pass || round === undefined) {
    return found;
  }
  const actual = round[field];
  return {
    pass: actual === expected,
    message: `expected the round to be settled with ${field} ${show(field, expected)}, but it is ${show(field, actual)}`,
    expected,
    actual,
    round,
  };
}

function show(field: SettledField, value: unknown): string {
  const integer = String(value);
  return field === "settledPrice"
    ? `${integer} (real value ${formatUnits(integer, units.price.decimals)})`
    : integer;
}

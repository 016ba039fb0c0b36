import { formatUnits } from "ethers";

import { checkValue } from "../mocks/state.js";
import { keysOf, units } from "../protocol/index.js";
import { describeOutcome, isSameRound } from "../protocol/round.js";
import {
  NoVerdict,
  describe,
  requireExpected,
  requireVault,
} from "./assertion.js";
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
  const expects = `expected transaction ${hash} to settle the vault's round, but`;
  const verdict = {
    expected: { before: { ...before, settled: false }, settled: true },
    actual: { before, settled: after.settled },
    round: after,
  };
  if (before.settled) {
    const message = `${expects} it was settled before (${describeOutcome(before)})`;
    return { ...verdict, pass: false, message };
  }
  if (!isSameRound(before, after)) {
    // The round may have been settled first.
    throw new NoVerdict(
      `${expects} another round took its place\n  before: ${describeOutcome(before)}\n   after: ${describeOutcome(after)}`,
    );
  }
  const outcome = describeOutcome(after);
  return {
    ...verdict,
    pass: after.settled,
    message: after.settled
      ? `expected transaction ${hash} not to settle the vault's round, but it did (${outcome})`
      : `${expects} it is still not settled (${outcome})`,
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

/** Checks values of a settled round; returns other verdicts as they are. */
export function checkSettledWith(found: Verdict, expected: unknown): Verdict {
  requireExpected(expected, "an object with price and amount");
  const checks = Object.entries(expected).map(([key, value]) => {
    const word = keysOf(settledValues).find((name) => name === key);
    if (word === undefined) {
      throw new NoVerdict(
        `there is no ${describe(key)} of a settlement to expect; there are ${keysOf(settledValues).join(", ")}`,
      );
    }
    const field = settledValues[word];
    // Undefined is refused, too: it comes of a value that the test did not find.
    const wanted = checkValue({ type: "uint256", unit: "raw" }, value, field);
    return { field, wanted };
  });
  const { pass, round } = found;
  const other = checks.find(({ field, wanted }) => wanted !== round?.[field]);
  if (!pass || round === undefined || other === undefined) {
    return found;
  }
  const { field, wanted } = other;
  const actual = round[field];
  return {
    pass: false,
    message: `expected the round to be settled with ${field} ${show(field, wanted)}, but it is ${show(field, actual)}`,
    expected: wanted,
    actual,
    round,
  };
}

function show(field: string, value: unknown): string {
  const integer = String(value);
  return field === "settledPrice"
    ? `${integer} (real value ${formatUnits(integer, units.price.decimals)})`
    : integer;
}

import { formatUnits } from "ethers";

import { units } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";
import { describeOutcome, isSameRound } from "../protocol/round.js";
import type { Assertion } from "./assertion.js";
import { readAroundTransaction } from "./sent-transaction.js";

/**
 * Asserts that a transaction settled the round that was the latest before it.
 *
 * @returns The settled round; undefined where the opposite is asserted and holds.
 */
export async function findSettlement(
  assertion: Assertion,
  vault: unknown,
): Promise<VaultRound | undefined> {
  const readable = assertion.requireVault(vault);
  const rounds = await readAroundTransaction(
    assertion,
    readable,
    "expected the vault's latest round to be settled by a transaction, but nothing was sent: the settlement had nothing to do",
    async (options) => await readable.getLatestRoundInfo(options),
  );
  if (rounds === undefined) {
    return undefined;
  }
  const { hash, before, after } = rounds;
  const failure = whyNotSettled(before, after);
  assertion.check(
    failure === undefined,
    () =>
      `expected transaction ${hash} to settle the vault's round, but ${String(failure)}`,
    () =>
      `expected transaction ${hash} not to settle the vault's round, but it did (${describeOutcome(after)})`,
    () => ({
      expected: { before: { ...before, settled: false }, settled: true },
      actual: { before, settled: after.settled },
    }),
  );
  return assertion.negated ? undefined : after;
}

function whyNotSettled(
  before: VaultRound,
  after: VaultRound,
): string | undefined {
  if (before.settled) {
    return `it was settled before (${describeOutcome(before)})`;
  }
  if (!isSameRound(before, after)) {
    return `another round took its place\n  before: ${describeOutcome(before)}\n   after: ${describeOutcome(after)}`;
  }
  return after.settled
    ? undefined
    : `it is still not settled (${describeOutcome(after)})`;
}

/**
 * Asserts that the latest round is settled.
 *
 * @returns As {@link findSettlement} does.
 */
export async function findSettledRound(
  assertion: Assertion,
  vault: unknown,
): Promise<VaultRound | undefined> {
  const round = await assertion.requireVault(vault).getLatestRoundInfo();
  assertion.check(
    round.settled,
    () =>
      `expected the vault's latest round to be settled, but it is not (${describeOutcome(round)})`,
    () =>
      `expected the vault's latest round not to be settled, but it is (${describeOutcome(round)})`,
    () => ({ expected: { ...round, settled: true }, actual: round }),
  );
  return assertion.negated ? undefined : round;
}

/** What a settlement writes to a round, and a test can expect. */
export type SettledField = "settledPrice" | "settledAmount";

/** Asserts what a round was settled with. */
export function checkSettledWith(
  assertion: Assertion,
  round: VaultRound,
  field: SettledField,
  expected: bigint,
): void {
  const actual = round[field];
  if (actual !== expected) {
    assertion.fail(
      `expected the round to be settled with ${field} ${show(field, expected)}, but it is ${show(field, actual)}`,
      { expected, actual },
    );
  }
}

function show(field: SettledField, value: bigint): string {
  return field === "settledPrice"
    ? `${value} (real value ${formatUnits(value, units.price.decimals)})`
    : value.toString();
}

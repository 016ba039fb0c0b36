import { formatUnits } from "ethers";

import { units } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";
import { describeOutcome, isSameRound } from "../protocol/round.js";
import { requireVault } from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { readAroundTransaction } from "./sent-transaction.js";

/** With the round that is settled, if the assertion holds. */
export interface RoundVerdict extends Verdict {
  readonly round?: VaultRound;
}

/** Checks that a transaction settled the round that was the latest before it. */
export async function checkSettlement(
  vault: unknown,
  transaction: unknown,
): Promise<RoundVerdict> {
  const readable = requireVault(vault);
  const rounds = await readAroundTransaction(
    readable,
    transaction,
    async (options) => await readable.getLatestRoundInfo(options),
  );
  if (rounds === undefined) {
    return {
      failure:
        "expected the vault's latest round to be settled by a transaction, but nothing was sent: the settlement had nothing to do",
    };
  }
  const { hash, before, after } = rounds;
  const reason = whyNotSettled(before, after);
  return reason === undefined
    ? {
        negatedFailure: `expected transaction ${hash} not to settle the vault's round, but it did (${describeOutcome(after)})`,
        round: after,
      }
    : {
        failure: `expected transaction ${hash} to settle the vault's round, but ${reason}`,
        expected: { before: { ...before, settled: false }, settled: true },
        actual: { before, settled: after.settled },
      };
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

/** Checks that the latest round is settled. */
export async function checkSettledRound(vault: unknown): Promise<RoundVerdict> {
  const round = await requireVault(vault).getLatestRoundInfo();
  return round.settled
    ? {
        negatedFailure: `expected the vault's latest round not to be settled, but it is (${describeOutcome(round)})`,
        round,
      }
    : {
        failure: `expected the vault's latest round to be settled, but it is not (${describeOutcome(round)})`,
        expected: { ...round, settled: true },
        actual: round,
      };
}

/** The fields that a settlement writes to a round, and a test can expect. */
export type SettledField = "settledPrice" | "settledAmount";

/** Checks what a round was settled with. */
export function checkSettledWith(
  round: VaultRound,
  field: SettledField,
  expected: bigint,
): RoundVerdict {
  const actual = round[field];
  return actual === expected
    ? { round }
    : {
        failure: `expected the round to be settled with ${field} ${show(field, expected)}, but it is ${show(field, actual)}`,
        expected,
        actual,
      };
}

function show(field: SettledField, value: bigint): string {
  return field === "settledPrice"
    ? `${value} (real value ${formatUnits(value, units.price.decimals)})`
    : value.toString();
}

import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { operationEntry, get, standaloneQueries } from "../protocol/index.js";
import type { Address, Field, VaultRound } from "../protocol/index.js";
import { assertInvariant } from "../errors.js";
import { asRecord } from "../json.js";
import { NATIVE, gainOf } from "./tokens.js";
import type {
  BalanceChange,
  ReadingChange,
  ReadingValue,
  Transfer,
} from "./types.js";

/** Values or failed readings by name. Example: `pools.public`, `orders.7`. */
export type Readings = ReadonlyMap<string, unknown>;

export interface Balance {
  readonly account: Address;
  /** Address of an ERC-20 contract, or {@link NATIVE}. */
  readonly token: Address | typeof NATIVE;
  readonly amount: bigint;
}

export function readingsIn(snapshot: VaultSnapshot): Readings {
  return new Map(
    standaloneQueries.map(({ path }) => [path.join("."), get(snapshot, path)]),
  );
}

/** @returns Undefined if the round cannot be read. */
export function roundOf({
  readings,
}: {
  readonly readings: Readings;
}): VaultRound | undefined {
  const round = readings.get("round");
  // the result type of getLatestRoundInfo
  return isFailedReading(round) ? undefined : (round as VaultRound | undefined);
}

export function readingFields(reading: string): readonly Field[] {
  const found = standaloneQueries.find(
    ({ path }) => path.join(".") === reading,
  );
  return operationEntry(found?.operation ?? "getOrderInfo").outputs;
}

export function changesBetween(
  before: Readings,
  after: Readings,
): readonly ReadingChange[] {
  return [...before].flatMap(([reading, value]) => {
    const other = after.get(reading);
    const isFailed = isFailedReading(value) || isFailedReading(other);
    const fields = isFailed
      ? ["error"]
      : readingFields(reading).map(({ name }) => name);
    return fields
      .map((field) => ({
        reading,
        field,
        before: valueIn(value, field),
        after: valueIn(other, field),
      }))
      .filter((change) => change.before !== change.after);
  });
}

/** A field of a reading; `error`, as any of one that failed, is its code. */
export function valueIn(value: unknown, field: string): ReadingValue {
  if (isFailedReading(value)) {
    return value.error.code;
  }
  if (field === "error") {
    return null;
  }
  // A result with one field is the bare value, not a record.
  const fields = asRecord(value);
  // the decoder returns these types only
  return (fields === value ? fields[field] : value) as ReadingValue;
}

/** Balances of the same accounts before and after, also those that do not differ. */
export function pairBalances(
  before: readonly Balance[],
  after: readonly Balance[],
): readonly BalanceChange[] {
  return before.map(({ account, token, amount }) => {
    const later = after.find(
      (one) => one.account === account && one.token === token,
    );
    assertInvariant(later !== undefined, "a balance is not read again");
    return { account, token, before: amount, after: later.amount };
  });
}

/**
 * Finds the accounts with more native currency, or less, than follows from the transfers.
 * The surplus is in wei, and may be negative.
 */
export function unexplainedBalances(
  transfers: readonly Transfer[],
  balances: readonly BalanceChange[],
): ReadonlyArray<{ readonly account: string; readonly surplus: bigint }> {
  return balances
    .filter(({ token }) => token === NATIVE)
    .map(({ account, before, after }) => ({
      account,
      surplus: after - before - gainOf(account, transfers),
    }))
    .filter(({ surplus }) => surplus !== 0n);
}

/** Lists the balances that differ, with the fee subtracted from the payer's. */
export function changedBalances(
  balances: readonly BalanceChange[],
  payer: string,
  fee: bigint,
): readonly BalanceChange[] {
  return balances
    .map(({ after, ...one }) => {
      const isPayers = one.token === NATIVE && one.account === payer;
      return { ...one, after: isPayers ? after - fee : after };
    })
    .filter(({ before, after }) => before !== after);
}

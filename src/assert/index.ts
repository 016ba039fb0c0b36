/**
 * What the Chai matchers check, as functions for `node:test` and any other
 * runner: the same messages, as `AssertionError` with `expected` and `actual`.
 *
 * @module hardhat-vault/assert
 */
import { AssertionError } from "node:assert";
import { inspect } from "node:util";

import { Assertion, NoVerdict, parseInteger } from "./assertion.js";
import type { ReadableVault } from "./assertion.js";
import { checkReadings } from "./change-readings.js";
import type { ExpectedReadings } from "./expected-readings.js";
import {
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
} from "./settled-round.js";
import type { RoundVerdict } from "./settled-round.js";

export type { ExpectedReadings, ExpectedValue } from "./expected-readings.js";
export type { ReadableVault } from "./assertion.js";

/** What a round was settled with, unscaled; what is not named may be anything. */
export interface ExpectedSettlement {
  /** Real value times 1E18. */
  readonly price?: bigint | number | undefined;
  /** Its scale is not documented. */
  readonly amount?: bigint | number | undefined;
}

/**
 * Asserts that a transaction settled the round that was the vault's latest in
 * the block before it: not settled there, settled in the transaction's block.
 *
 * @param transaction The transaction, its hash, what `settleAll()` resolved to,
 * or a promise of one of these. A rejected promise and a reverted transaction
 * fail.
 * @throws AssertionError
 *
 * @example
 * ```ts
 * const price = 66_250n * 10n ** 18n;
 * await settlesRound(vault, vault.settleAll(), { price });
 * await settlesRound(vault, vault.settleAll());
 * // AssertionError: expected the vault's latest round to be settled by a
 * // transaction, but nothing was sent: the settlement had nothing to do
 * ```
 */
export async function settlesRound(
  vault: ReadableVault,
  transaction: unknown,
  expected: ExpectedSettlement = {},
): Promise<void> {
  await assertionOf(settlesRound).check(
    async () =>
      await checkWith(expected, () => checkSettlement(vault, transaction)),
    transaction,
  );
}

/**
 * Asserts that the latest round of a vault is settled.
 *
 * @throws AssertionError
 *
 * @example
 * ```ts
 * await roundSettled(vault, { amount: 5n });
 * // AssertionError: expected the round to be settled with settledAmount 5, but
 * // it is 420000000000000000000
 * ```
 */
export async function roundSettled(
  vault: ReadableVault,
  expected: ExpectedSettlement = {},
): Promise<void> {
  await assertionOf(roundSettled).check(
    async () => await checkWith(expected, () => checkSettledRound(vault)),
  );
}

/**
 * Asserts that a transaction changed readings of a vault, from the block before
 * it to its own. Readings that are not named may change or not; without
 * `expected`, any change will do.
 *
 * @param transaction As in {@link settlesRound}.
 * @param expected What the readings changed to, as in a snapshot, or
 * `{ from, to }`, or `{ by }`. Integers are unscaled. A reading that already
 * had the value does not count as changed.
 * @throws AssertionError
 *
 * @example
 * ```ts
 * await changesReadings(vault, vault.settleAll(), {
 *   round: { settled: true },
 *   volume: { by: -5n },
 * });
 * // AssertionError: expected transaction 0x… to change readings otherwise:
 * //   volume: expected a change by -5, but it is 420000000000000000000 as before
 * ```
 */
export async function changesReadings(
  vault: ReadableVault,
  transaction: unknown,
  expected?: ExpectedReadings,
): Promise<void> {
  await assertionOf(changesReadings).check(
    async () => await checkReadings(vault, transaction, expected),
    transaction,
  );
}

const fields = { price: "settledPrice", amount: "settledAmount" } as const;

/** Refuses first what no round could be settled with. */
async function checkWith(
  expected: ExpectedSettlement,
  find: () => Promise<RoundVerdict>,
): Promise<RoundVerdict> {
  const unknown = Object.keys(expected).find((key) => !(key in fields));
  if (unknown !== undefined) {
    throw new NoVerdict(
      `there is no ${inspect(unknown)} of a settlement to expect; there are price, amount`,
    );
  }
  const wanted = (["price", "amount"] as const).flatMap((key) =>
    expected[key] === undefined
      ? []
      : [{ field: fields[key], value: parseInteger(expected[key], key) }],
  );
  const found = await find();
  return wanted.reduce<RoundVerdict>(
    ({ round, ...failed }, { field, value }) =>
      round === undefined ? failed : checkSettledWith(round, field, value),
    found,
  );
}

/** Fails as `node:assert` does. */
function assertionOf(called: (...args: never) => Promise<void>): Assertion {
  return new Assertion(
    called,
    (message, difference) =>
      new AssertionError({ message, operator: called.name, ...difference }),
  );
}

/**
 * The checks of the Chai matchers as functions, for `node:test` and any other
 * runner: the same messages, as `AssertionError` with `expected` and `actual`.
 *
 * @module hardhat-vault/assert
 */
import { AssertionError } from "node:assert";
import { inspect } from "node:util";

import type { VaultClient } from "../client/vault-client.js";
import { NoVerdict, assertVerdict } from "./assertion.js";
import type { Verdict } from "./assertion.js";
import { checkReadings } from "./change-readings.js";
import type { ExpectedReadings } from "./change-readings.js";
import {
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
} from "./settled-round.js";

export type { ExpectedReadings, ExpectedValue } from "./change-readings.js";

/** Values that a round was settled with, unscaled; omitted ones may be anything. */
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
  vault: VaultClient,
  transaction: unknown,
  expected: ExpectedSettlement = {},
): Promise<void> {
  await assertCheck(
    checkWith(checkSettlement(vault, transaction), expected),
    settlesRound,
  );
}

/**
 * Asserts that the latest round of a vault is settled.
 *
 * @example
 * ```ts
 * await roundSettled(vault, { amount: 5n });
 * // AssertionError: expected the round to be settled with settledAmount 5, but
 * // it is 420000000000000000000
 * ```
 */
export async function roundSettled(
  vault: VaultClient,
  expected: ExpectedSettlement = {},
): Promise<void> {
  await assertCheck(
    checkWith(checkSettledRound(vault), expected),
    roundSettled,
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
  vault: VaultClient,
  transaction: unknown,
  expected?: ExpectedReadings,
): Promise<void> {
  await assertCheck(
    checkReadings(vault, transaction, expected),
    changesReadings,
  );
}

const fields = { price: "settledPrice", amount: "settledAmount" } as const;

async function checkWith(
  check: Promise<Verdict>,
  expected: ExpectedSettlement,
): Promise<Verdict> {
  let found = await check;
  for (const [key, value] of Object.entries(expected)) {
    if (key !== "price" && key !== "amount") {
      throw new NoVerdict(
        `there is no ${inspect(key)} of a settlement to expect; there are price, amount`,
      );
    }
    if (value !== undefined) {
      found = checkSettledWith(found, fields[key], value);
    }
  }
  return found;
}

/** Fails as `node:assert` does. */
async function assertCheck(
  check: Promise<Verdict>,
  called: (...args: never) => Promise<void>,
): Promise<void> {
  await assertVerdict(
    check,
    called,
    ({ message, expected, actual }) =>
      new AssertionError({ message, operator: called.name, expected, actual }),
  );
}

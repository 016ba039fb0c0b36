/**
 * The checks of the Chai matchers as functions, for `node:test` and any other
 * runner: the same messages, as `AssertionError` with `expected` and `actual`.
 *
 * @module hardhat-vault/assert
 */
import { AssertionError } from "node:assert";

import type { VaultErrorCode } from "../errors.js";
import type { CallArguments, OperationName } from "../protocol/index.js";
import { assertVerdict, checkRejection } from "./assertion.js";
import type {
  AssertedVault,
  ExpectedVaultError,
  Verdict,
} from "./assertion.js";
import {
  checkReadings,
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
} from "./readings.js";
import type { ExpectedReadings } from "./readings.js";
import { checkCalled } from "./transaction.js";

export type { AssertedVault, ExpectedVaultError } from "./assertion.js";
export type { CallArguments } from "../protocol/index.js";
export type { ExpectedReadings, ExpectedValue } from "./readings.js";

/**
 * Values that a round was settled with, unscaled; omitted ones may be anything. A value
 * that is undefined is refused.
 */
export interface ExpectedSettlement {
  /** Real value times 1E18. */
  readonly price?: bigint | number;
  /** Unscaled; its scale is not documented. */
  readonly amount?: bigint | number;
}

/**
 * Asserts that a transaction settled the latest round: it is not settled in the block
 * before the transaction, and settled in the transaction's block.
 *
 * @param transaction Transaction, its hash, the result of `settleAll()`, or a promise of
 * one of these. A rejected promise or a reverted transaction fails.
 *
 * @example
 * ```ts
 * const price = 66_250n * 10n ** 18n;
 * await settlesRound(vault, vault.settleAll(), { price });
 * ```
 */
export async function settlesRound(
  vault: AssertedVault,
  transaction: unknown,
  expected: ExpectedSettlement = {},
): Promise<void> {
  await assertCheck(
    checkSettlement(vault, transaction).then((found) =>
      checkSettledWith(found, expected),
    ),
    transaction,
    settlesRound,
  );
}

/**
 * Asserts that the latest round of a vault is settled.
 *
 * @example
 * ```ts
 * await roundSettled(vault, { amount: 5n });
 * ```
 */
export async function roundSettled(
  vault: AssertedVault,
  expected: ExpectedSettlement = {},
): Promise<void> {
  await assertCheck(
    checkSettledRound(vault).then((found) => checkSettledWith(found, expected)),
    vault,
    roundSettled,
  );
}

/**
 * Asserts that a transaction changed readings, from the block before it to its own.
 *
 * @param transaction See {@link settlesRound}.
 * @param expected New values in the shape of a snapshot, or `{ from, to }` or `{ by }` for
 * a value. Integers are unscaled. A reading that had its new value before does
 * not count as changed. Other readings may change, too. Default: any change.
 *
 * @example
 * ```ts
 * await changesReadings(vault, vault.settleAll(), {
 *   round: { settled: true },
 *   volume: { by: -5n },
 * });
 * ```
 */
export async function changesReadings(
  vault: AssertedVault,
  transaction: unknown,
  expected?: ExpectedReadings,
): Promise<void> {
  await assertCheck(
    checkReadings(vault, transaction, expected),
    transaction,
    changesReadings,
  );
}

/**
 * Asserts that a transaction called an operation, itself or by a contract, at any
 * depth. The node must have `debug_traceTransaction`.
 *
 * @param transaction See {@link settlesRound}.
 * @param args Arguments of the client's method of that name, `[]` for `settleAll`. If
 * omitted, any arguments pass.
 *
 * @example
 * ```ts
 * await callsVault(vault, vault.settleAll(), "settleAll");
 * ```
 */
export async function callsVault<Name extends OperationName>(
  vault: AssertedVault,
  transaction: unknown,
  operation: Name,
  args?: CallArguments<Name>,
): Promise<void> {
  await assertCheck(
    checkCalled(vault, transaction, operation, args),
    transaction,
    callsVault,
  );
}

/**
 * Asserts that a promise is rejected with a `VaultError` of this code.
 *
 * @param work The promise, or a function that returns one.
 * @param expected `details`: values that the error's details have.
 *
 * @example
 * ```ts
 * await rejectsWithVaultError(vault.getOrderInfo(-1n), "VAULT_INVALID_INTEGER");
 * ```
 */
export async function rejectsWithVaultError(
  work: PromiseLike<unknown> | (() => unknown),
  code: VaultErrorCode,
  expected: ExpectedVaultError = {},
): Promise<void> {
  await assertCheck(
    checkRejection(work, code, expected),
    work,
    rejectsWithVaultError,
  );
}

async function assertCheck(
  check: Promise<Verdict>,
  subject: unknown,
  called: (...args: never) => Promise<void>,
): Promise<void> {
  await assertVerdict(
    check,
    subject,
    called,
    ({ message, expected, actual }) =>
      new AssertionError({
        message,
        operator: called.name,
        expected,
        actual,
      }),
  );
}

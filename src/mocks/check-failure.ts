import { describeInput } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import {
  isOperationName,
  operationNames,
  targetsOf,
} from "../protocol/index.js";
import { requireObject } from "./check-values.js";
import { checkReason } from "./failure.js";
import type { ScriptedFailure } from "./types.js";

/**
 * Checks what is to fail, or to succeed again: a mistyped name must not be a
 * failure that never happens.
 *
 * @param where What it is given to, named in errors.
 * @param prefix Put before the names of what is wrong.
 * @throws VaultError VAULT_INVALID_ENUM, VAULT_INVALID_ARGUMENT
 */
export function checkTarget(
  { operation, pool }: { operation: unknown; pool?: unknown },
  where: string,
  prefix = "",
): void {
  if (typeof operation !== "string" || !isOperationName(operation)) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: `${prefix}operation`,
      allowed: operationNames.join(", "),
      value: describeInput(operation),
    });
  }
  if (pool === undefined) {
    return;
  }
  const pools = targetsOf(operation).flatMap(({ variant = [] }) => variant);
  if (pools.length === 0) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: `${operation} is no operation of the pools, so none can be named`,
    });
  }
  if (!pools.some((known) => known === pool)) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: `${prefix}pool`,
      allowed: pools.join(", "),
      value: describeInput(pool),
    });
  }
}

/** @throws VaultError VAULT_INVALID_ENUM, VAULT_INVALID_ARGUMENT */
export function checkFailures<List extends readonly ScriptedFailure[]>(
  failures: List,
  where: string,
): List {
  if (!Array.isArray(failures)) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: `a list is needed, got ${describeInput(failures)}`,
    });
  }
  failures.forEach((failure: unknown, index) => {
    const place = `${where}[${index}]`;
    const { operation, pool, reason, ...others } = requireObject(
      failure,
      place,
    );
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: place,
        problem: `${describeInput(unknown)} is not a field; the fields are operation, pool, reason`,
      });
    }
    checkTarget({ operation, pool }, place, `${place}.`);
    checkReason(reason, `${place}.reason`);
  });
  return failures;
}

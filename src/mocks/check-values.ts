import { describeInput, parseAddress, parseUint256 } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { operationEntry } from "../protocol/index.js";
import type { Field, OperationName } from "../protocol/index.js";

/**
 * Checks values that a mock is to answer against the fields of an operation.
 * TypeScript has done that for most callers, but not for a fixture file, nor
 * for JavaScript.
 *
 * @param where What the values are for, named in errors.
 * @param names Which of the operation's fields may be given; all, unless given.
 * @returns The values, integers as bigints, without those left undefined.
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER,
 * VAULT_INVALID_ADDRESS
 */
export function checkValues<Values extends object>(
  operation: OperationName,
  values: Values,
  where: string,
  names?: readonly string[],
): Values {
  const fields = fieldsOf(operation, names);
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(requireObject(values, where))) {
    const field = fields.find((known) => known.name === name);
    if (field === undefined) {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where,
        problem: `${describeInput(name)} is not a field; the fields are ${fields.map((known) => known.name).join(", ")}`,
      });
    }
    if (value !== undefined) {
      checked[name] = checkValue(field, value, `${where}.${name}`);
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each value was checked to be of the type that its field has
  return checked as Values;
}

/**
 * Like {@link checkValues}, for values of which none may be missing.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if one is
 */
export function checkAllValues<Values extends object>(
  operation: OperationName,
  values: Partial<Values>,
  where: string,
  names?: readonly string[],
): Values {
  const checked = checkValues(operation, values, where, names);
  const missing = fieldsOf(operation, names)
    .map(({ name }) => name)
    .filter((name) => !Object.hasOwn(checked, name));
  if (missing.length > 0) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`,
    });
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- nothing is missing, as was just checked
  return checked as Values;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function requireBoolean(value: unknown, where: string): boolean {
  requireType(typeof value === "boolean", value, where, "a boolean");
  return value === true;
}

/**
 * An object by its keys; the keys of a list would be its indexes.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT
 */
export function requireObject(
  value: unknown,
  where: string,
  type = "an object",
): Readonly<Record<string, unknown>> {
  const isObject =
    typeof value === "object" && value !== null && !Array.isArray(value);
  requireType(isObject, value, where, type);
  return { ...(isObject ? value : {}) };
}

function fieldsOf(
  operation: OperationName,
  names: readonly string[] | undefined,
): readonly Field[] {
  return operationEntry(operation).outputs.filter(
    ({ name }) => names === undefined || names.includes(name),
  );
}

function checkValue(field: Field, value: unknown, where: string): unknown {
  switch (field.type) {
    case "uint256":
      return parseUint256(value, where);
    case "uint8":
      return parseUint8(value, where);
    case "address":
      return parseAddress(value, where);
    case "bool":
      return requireType(typeof value === "boolean", value, where, "a boolean");
    case "string":
      return requireType(
        typeof value === "string" || value instanceof Uint8Array,
        value,
        where,
        "a string or bytes",
      );
  }
}

function parseUint8(value: unknown, where: string): number {
  if (
    typeof value === "number" &&
    Number.isInteger(value) &&
    value >= 0 &&
    value <= 255
  ) {
    return value;
  }
  throw vaultError("VAULT_INVALID_INTEGER", {
    where,
    bits: 8,
    value: describeInput(value),
  });
}

function requireType(
  isOfType: boolean,
  value: unknown,
  where: string,
  type: string,
): unknown {
  if (!isOfType) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where,
      problem: `${type} is needed, got ${describeInput(value)}`,
    });
  }
  return value;
}

import {
  describeInput,
  notOneOf,
  parseAddress,
  parseEnum,
  parseUint,
  readInteger,
} from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { isEnumName, operationEntry } from "../protocol/index.js";
import type { Field, OperationName } from "../protocol/index.js";

// Not zod: it would call the same parsers, whose errors have codes and details.

export type CheckedField = Pick<Field, "type" | "unit">;
export type NamedField = Pick<Field, "name" | "type" | "unit">;

/**
 * Checks a value of an operation, from the API or as text of a file or a command.
 *
 * @param where Names the value in errors.
 */
export function checkValue(
  { type, unit }: CheckedField,
  value: unknown,
  where: string,
): unknown {
  const number =
    typeof value === "string" ? (readInteger(value) ?? value) : value;
  switch (type) {
    case "uint256":
      return parseUint(number, where, 256);
    case "uint8":
      // A contract may return an unlisted number.
      return isEnumName(unit) && typeof number === "string"
        ? parseEnum(unit, value, where)
        : Number(parseUint(number, where, 8));
    case "address":
      return parseAddress(value, where);
    case "bool": {
      const isTrue = value === true || value === "true";
      if (!isTrue && value !== false && value !== "false") {
        throw notOneOf(where, ["true", "false"], value);
      }
      return isTrue;
    }
    case "string":
      if (typeof value !== "string") {
        throw needed("a text", value, where);
      }
      return value;
  }
}

/**
 * @param required Names of the values that must be there. Default: all.
 * @returns The checked values, without undefined ones.
 * @throws VaultError VAULT_INVALID_ARGUMENT for an unknown or a missing value, and
 * the codes of {@link checkValue}
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the type that the fields make, which the caller names
export function checkValues<Values extends object>(
  fields: readonly NamedField[],
  values: unknown,
  where: string,
  required: readonly string[] = fields.map(({ name }) => name),
): Values {
  const names = fields.map(({ name }) => name);
  const given = requireKnownKeys(values, names, where);
  const missing = required.filter((name) => given[name] === undefined);
  const checked = fields.flatMap((field) => {
    const { name } = field;
    const value = given[name];
    return value === undefined
      ? []
      : [[name, checkValue(field, value, `${where}.${name}`)] as const];
  });
  if (missing.length > 0) {
    throw invalidArgument(
      where,
      `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`,
    );
  }
  // each value was checked to be of the type that its field has
  return Object.fromEntries(checked) as Values;
}

/** Checks the whole result of an operation: an object, or its only value. */
export function checkAnswer(
  operation: OperationName,
  answer: unknown,
  where: string,
): unknown {
  const { outputs } = operationEntry(operation);
  const [only] = outputs;
  return only !== undefined && outputs.length === 1
    ? checkValue(only, answer, where)
    : checkValues(outputs, answer, where);
}

/** Refuses a misspelt key, which would change nothing. */
export function requireKnownKeys(
  value: unknown,
  known: readonly string[],
  where: string,
): Readonly<Record<string, unknown>> {
  const given = requireObject(value, where);
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw invalidArgument(
      where,
      `${describeInput(unknown)} is not a field; the fields are ${known.join(", ")}`,
    );
  }
  return given;
}

/** Refuses a list, too. */
export function requireObject(
  value: unknown,
  where: string,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw needed("an object", value, where);
  }
  return asRecord(value);
}

function needed(type: string, value: unknown, where: string): VaultError {
  return invalidArgument(
    where,
    `${type} is needed, got ${describeInput(value)}`,
  );
}

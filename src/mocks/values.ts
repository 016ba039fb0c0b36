import { z } from "zod";

import {
  describeInput,
  notOneOf,
  parseAddress,
  parseEnum,
  parseUint,
  readInteger,
} from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import type { Schema } from "../files/recorded-values.js";
import { isEnumName, operationEntry } from "../protocol/index.js";
import type { Field, ReadOperationName } from "../protocol/index.js";

export type CheckedField = Pick<Field, "type" | "unit">;

/** The schemas of an object's values by their names. */
export type Shape = Record<string, Schema>;

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
    case "bool":
      return requireOneOf(["true", "false"], String(value), where) === "true";
    case "string":
      if (typeof value !== "string") {
        throw invalidArgument(
          where,
          `a text is needed, got ${describeInput(value)}`,
        );
      }
      return value;
  }
}

/** @throws VaultError VAULT_INVALID_ENUM */
export function requireOneOf<Word extends string>(
  words: readonly Word[],
  value: unknown,
  where: string,
): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) {
    throw notOneOf(where, words, value);
  }
  return found;
}

/** A schema that a function checks; `place` names the value in errors. */
export function placed<Value>(
  check: (given: unknown, place: string) => Value,
): Schema<Value> {
  return z
    .unknown()
    .transform((given, { path }) => check(given, placeOf(path)));
}

/** The schema of a value of an operation, from the API or as text. */
export function valueOf(field: CheckedField): Schema {
  return placed((given, place) => {
    if (given === undefined) {
      throw invalidArgument(place, "it is missing");
    }
    return checkValue(field, given, place);
  });
}

export function valuesOf(fields: readonly Field[]): Shape {
  return Object.fromEntries(
    fields.map((field) => [field.name, valueOf(field)]),
  );
}

/** @param isWhole False if an object may lack some of its values. */
export function answerSchema(
  operation: ReadOperationName,
  isWhole: boolean,
): Schema {
  const { outputs } = operationEntry(operation);
  const [only, ...others] = outputs;
  if (only !== undefined && others.length === 0) {
    return valueOf(only);
  }
  const values = valuesOf(outputs);
  return isWhole ? objectOf(values) : objectOf({}, values);
}

/**
 * The schema of an object. It refuses a misspelt key, which would change nothing, and leaves
 * out undefined values.
 */
export function objectOf(
  required: Shape,
  optional: Shape = {},
): Schema<Readonly<Record<string, unknown>>> {
  const known = Object.keys({ ...required, ...optional }).join(", ");
  const errorMap: z.ZodErrorMap = (issue, { data }) => ({
    message:
      issue.code === "unrecognized_keys"
        ? `${describeInput(issue.keys[0])} is not a field; the fields are ${known}`
        : `an object is needed, got ${describeInput(data)}`,
  });
  const shape = { ...required, ...z.object(optional).partial().shape };
  return z
    .object(shape, { errorMap })
    .strict()
    .transform((object) =>
      Object.fromEntries(
        Object.entries(object).filter(([, value]) => value !== undefined),
      ),
    );
}

/**
 * @param where Names the value in errors; the values in it are named after it.
 * @throws VaultError VAULT_INVALID_ARGUMENT, and the codes of {@link checkValue}
 */
export function parse<Value>(
  schema: Schema<Value>,
  given: unknown,
  where: string,
): Value {
  const { success, data, error } = schema.safeParse(given, { path: [where] });
  if (success) {
    return data;
  }
  const { path = [], message = "it is invalid" } = error.issues[0] ?? {};
  const place = placeOf(path);
  throw invalidArgument(
    place === "" ? "The changes to the mocks" : place,
    message,
  );
}

/** Example: `failures[0].reason`. */
function placeOf(path: ReadonlyArray<string | number>): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`))
    .join("")
    .replace(/^\.+/u, "");
}

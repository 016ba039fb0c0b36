import { getBytes, isHexString } from "ethers";

import { invalidArgument, vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { isEnumName, operationEntry } from "../protocol/index.js";
import type { Field, OperationName } from "../protocol/index.js";
import {
  describeInput,
  givenInput,
  notOneOf,
  parseAddress,
  parseEnum,
  parseUint256,
  readInteger,
} from "./inputs.js";

/** What of a field a check needs. */
export type CheckedField = Pick<Field, "type" | "unit">;

/**
 * Checks a value of an operation: as the API has it, or as a text of a file or
 * of a command line.
 *
 * @param where What the value is for, named in errors.
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER,
 * VAULT_INVALID_ADDRESS, VAULT_INVALID_ENUM
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
      return parseUint256(number, where);
    case "uint8":
      if (isEnumName(unit) && typeof number === "string") {
        return parseEnum(unit, value, where);
      }
      // A contract may return one that is not listed.
      if (
        (typeof number === "bigint" || Number.isInteger(number)) &&
        Number(number) >= 0 &&
        Number(number) <= 255
      ) {
        return Number(number);
      }
      throw vaultError("VAULT_INVALID_INTEGER", {
        where,
        bits: 8,
        value: givenInput(value),
      });
    case "address":
      return parseAddress(value, where);
    case "bool": {
      const isTrue = value === true || value === "true";
      if (!isTrue && value !== false && value !== "false") {
        throw notOneOf(where, ["true", "false"], value);
      }
      return isTrue;
    }
    case "string": {
      const { bytes } = asRecord(value);
      // A file has the bytes of a text that is not UTF-8.
      if (isHexString(bytes, true)) {
        return getBytes(bytes);
      }
      if (typeof value === "string" || value instanceof Uint8Array) {
        return value;
      }
      throw needed("a text, or its bytes as 0x hex data,", value, where);
    }
  }
}

/**
 * Checks some of an operation's values.
 *
 * @returns The checked values, without those that are undefined.
 * @throws VaultError as {@link checkValue} does
 */
export function checkValues<Values extends object>(
  fields: readonly Field[],
  values: unknown,
  where: string,
): Partial<Values> {
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(requireObject(values, where))) {
    const field = fields.find((known) => known.name === name);
    if (field === undefined) {
      throw invalidArgument(
        where,
        `${describeInput(name)} is not a field; the fields are ${fields.map((known) => known.name).join(", ")}`,
      );
    }
    if (value !== undefined) {
      checked[name] = checkValue(field, value, `${where}.${name}`);
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each value was checked to be of the type that its field has
  return checked as Partial<Values>;
}

/**
 * Like {@link checkValues}, for values of which none may be missing.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if one is
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the type that the fields make, which the caller names
export function checkAllValues<Values extends object>(
  fields: readonly Field[],
  values: unknown,
  where: string,
): Values {
  const checked = checkValues<Values>(fields, values, where);
  const missing = fields
    .map(({ name }) => name)
    .filter((name) => !Object.hasOwn(checked, name));
  if (missing.length > 0) {
    throw invalidArgument(
      where,
      `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing${fields.length === 2 ? ": give both" : ""}`,
    );
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- none is missing
  return checked as Values;
}

/** Checks all that an operation returns: an object, or its only value. */
export function checkAnswer(
  operation: OperationName,
  answer: unknown,
  where: string,
): unknown {
  const { outputs } = operationEntry(operation);
  const [only] = outputs;
  return only !== undefined && outputs.length === 1
    ? checkValue(only, answer, where)
    : checkAllValues(outputs, answer, where);
}

/** Checks that a value is an object by its keys, which a list is not. */
export function requireObject(
  value: unknown,
  where: string,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw needed("an object", value, where);
  }
  return asRecord(value);
}

function needed(type: string, value: unknown, where: string): Error {
  return invalidArgument(
    where,
    `${type} is needed, got ${describeInput(value)}`,
  );
}

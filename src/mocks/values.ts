import {
  describeInput,
  notOneOf,
  parseAddress,
  parseEnum,
  parseUint,
  readInteger,
} from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import { isEnumName } from "../protocol/index.js";
import type { Field } from "../protocol/index.js";

// Not zod: it would call the same parsers, whose errors have codes and details.

export type CheckedField = Pick<Field, "type" | "unit">;

/** Fields by their paths. Example: `pools.public.locked`; `orders.*.state` of every order. */
export type Fields = ReadonlyMap<string, CheckedField>;

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

/** Objects in place of which null is given: there is none. */
const nullable: ReadonlySet<string> = new Set([
  "orders.*",
  "generatedOrders",
  "settlement.reward",
]);

/** The values without which an object is nothing. */
const needed: Readonly<Record<string, readonly string[]>> = {
  generatedOrders: ["firstId", "lastId"],
  "settlement.reward": ["amount"],
};

/**
 * Checks the values of an object, and of the objects in it. A misspelt key would change
 * nothing, so it is refused.
 *
 * @param where Names the object in errors; "" for changes to a whole state.
 * @param place The path of the object; "" for all fields.
 * @param required Names of the values that must be there.
 * @returns The values, without undefined ones.
 * @throws VaultError VAULT_INVALID_ARGUMENT, and the codes of {@link checkValue}
 */
export function checkObject(
  fields: Fields,
  given: unknown,
  where: string,
  place = "",
  required: readonly string[] = needed[place] ?? [],
): Readonly<Record<string, unknown>> {
  const prefix = place === "" ? "" : `${place}.`;
  const known = [...fields.keys()]
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).replace(/\..*/u, ""));
  const checked = new Map<string, unknown>();
  const object = where === "" ? "The changes to the mocks" : where;
  for (const [key, value] of Object.entries(requireObject(given, object))) {
    const name = known.includes("*") ? "*" : key;
    if (!known.includes(name)) {
      throw invalidArgument(
        object,
        `${describeInput(key)} is not a field; the fields are ${[...new Set(known)].join(", ")}`,
      );
    }
    const path = prefix + name;
    const shown = where === "" ? key : `${where}.${key}`;
    const field = fields.get(path);
    if (value !== undefined) {
      checked.set(
        key,
        field !== undefined
          ? checkValue(field, value, shown)
          : value === null && nullable.has(path)
            ? null
            : checkObject(fields, value, shown, path),
      );
    }
  }
  const missing = required.filter((name) => !checked.has(name));
  if (missing.length > 0) {
    throw invalidArgument(
      object,
      `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`,
    );
  }
  return Object.fromEntries(checked);
}

/** Refuses a list, too. */
export function requireObject(
  value: unknown,
  where: string,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidArgument(
      where,
      `an object is needed, got ${describeInput(value)}`,
    );
  }
  return asRecord(value);
}

import { invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import { describeInput } from "./inputs.js";

/** An option of a schema: its name is the key, and this carries the type of its value. */
export interface Option<Value> {
  /** For the compiler only. */
  readonly type?: Value;
}

/** @returns An option whose value has this type. */
export function option<Value>(): Option<Value> {
  return {};
}

/** Options that a function takes, each of which may be left out or undefined. */
export type OptionsOf<Schema> = {
  readonly [Name in keyof Schema]?:
    | (Schema[Name] extends Option<infer Value> ? Value : never)
    | undefined;
};

/** The options of one schema or of another one, not of both. */
export type OneOf<First, Second> =
  | (OptionsOf<First> & { readonly [Name in keyof Second]?: undefined })
  | (OptionsOf<Second> & { readonly [Name in keyof First]?: undefined });

/** @throws VaultError VAULT_INVALID_ARGUMENT for an option that the schema lacks */
export function checkOptions(
  where: string,
  options: unknown,
  schema: object,
): void {
  if (options !== undefined) {
    checkKeys(where, options, "option", Object.keys(schema));
  }
}

/**
 * Refuses a misspelt key, which would be ignored.
 *
 * @param where Names the function in errors.
 * @throws VaultError VAULT_INVALID_ARGUMENT
 */
export function checkKeys(
  where: string,
  given: unknown,
  noun: "argument" | "contract" | "option",
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  const known = `the ${noun}s are ${names.join(", ")}`;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidArgument(
      where,
      `an object with ${noun}s is needed, got ${describeInput(given)}; ${known}`,
    );
  }
  const other = Object.keys(given).find((key) => !names.includes(key));
  if (other !== undefined) {
    throw invalidArgument(
      where,
      `${describeInput(other)} is not ${noun === "contract" ? "a" : "an"} ${noun}; ${known}`,
    );
  }
  return asRecord(given);
}

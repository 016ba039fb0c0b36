import { invalidArgument } from "../errors.js";
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

/**
 * Refuses a misspelt option, which would be ignored.
 *
 * @param where Names the function in errors.
 * @throws VaultError VAULT_INVALID_ARGUMENT
 */
export function checkOptions(
  where: string,
  options: unknown,
  schema: object,
): void {
  if (options === undefined) {
    return;
  }
  const known = (): string => Object.keys(schema).join(", ");
  if (
    typeof options !== "object" ||
    options === null ||
    Array.isArray(options)
  ) {
    throw invalidArgument(
      where,
      `an object with options is needed, got ${describeInput(options)}; the options are ${known()}`,
    );
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(schema, name)) {
      throw invalidArgument(
        where,
        `${describeInput(name)} is not an option; the options are ${known()}`,
      );
    }
  }
}

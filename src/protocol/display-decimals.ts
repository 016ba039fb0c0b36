import { operations } from "./operations.js";
import type { Field, Operation, ReadOperationName } from "./operations.js";

type Operations = Pick<typeof operations, ReadOperationName>;

type Unscaled<Name extends ReadOperationName> = Exclude<
  Extract<Operations[Name]["outputs"][number], { readonly unit: "raw" }>,
  { readonly isLikelyTime: true }
>["name"];

/**
 * Key of `displayDecimals`: a reading, for all its values without a documented
 * scale, or one of these values.
 */
export type DisplayDecimalsKey = {
  [Name in ReadOperationName]: [Unscaled<Name>] extends [never]
    ? never
    : | Operations[Name]["key"]
      | (Operations[Name]["outputs"] extends readonly [unknown]
          ? never
          : `${Operations[Name]["key"]}.${Unscaled<Name>}`);
}[ReadOperationName];

/** Decimals for display by {@link DisplayDecimalsKey}. */
export type DisplayDecimals = {
  readonly [Key in DisplayDecimalsKey]?: number | undefined;
};

/** Decimals of displayed amounts; the API and JSON stay unscaled. */
export interface DisplaySettings {
  /** Decimals of token amounts ("token precision"). */
  readonly tokenDecimals?: number | undefined;
  /** Decimals of values whose scale the protocol does not document. */
  readonly displayDecimals?: DisplayDecimals | undefined;
}

/** The properties of a value that decide its decimals. */
export type ScaledField = Pick<Field, "unit" | "isLikelyTime" | "key"> &
  Partial<Pick<Field, "name">>;

/** @returns True if the setting `displayDecimals` may scale the value. */
export function hasOwnersScale({ unit, isLikelyTime }: ScaledField): boolean {
  return unit === "raw" && isLikelyTime !== true;
}

/** Every {@link DisplayDecimalsKey}, in the order of the operations. */
export const displayDecimalsKeys: readonly string[] = Object.values<Operation>(
  operations,
).flatMap(({ key, outputs }) => {
  const own = outputs.filter(hasOwnersScale);
  return own.length === 0
    ? []
    : [
        key,
        ...(outputs.length === 1
          ? []
          : own.map(({ name }) => `${key}.${name}`)),
      ];
});

/**
 * Finds the configured decimals of a value; a setting of the value precedes a
 * setting of its reading.
 */
export function declaredDecimals(
  displayDecimals: DisplayDecimals | undefined,
  field: ScaledField,
): number | undefined {
  const { key = "", name = "" } = field;
  const declared: Readonly<Record<string, number | undefined>> =
    displayDecimals ?? {};
  return hasOwnersScale(field)
    ? (declared[`${key}.${name}`] ?? declared[key])
    : undefined;
}

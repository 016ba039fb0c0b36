import { operations } from "./operations.js";
import type { Field, Operation } from "./operations.js";
import type { ReadOperationName } from "./types.js";

type Operations = Pick<typeof operations, ReadOperationName>;

/** Names of an operation's values whose scale the protocol does not give. */
type Unscaled<Name extends ReadOperationName> = Exclude<
  Extract<Operations[Name]["outputs"][number], { readonly unit: "raw" }>,
  { readonly isLikelyTime: true }
>["name"];

/**
 * A key of the decimals for display: a reading, for all of its values whose scale
 * the protocol does not give, or one of those values.
 */
export type DisplayDecimalsKey = {
  [Name in ReadOperationName]: [Unscaled<Name>] extends [never]
    ? never
    : | Operations[Name]["key"]
      | (Operations[Name]["outputs"] extends readonly [unknown]
          ? never
          : `${Operations[Name]["key"]}.${Unscaled<Name>}`);
}[ReadOperationName];

/** Decimals for display, by {@link DisplayDecimalsKey}. */
export type DisplayDecimals = {
  readonly [Key in DisplayDecimalsKey]?: number | undefined;
};

/** Scales of the amounts that a person sees; the API and JSON stay unscaled. */
export interface DisplaySettings {
  /** The protocol's "token precision". */
  readonly tokenDecimals?: number | undefined;
  /** Scales that this deployment's owner knows. */
  readonly displayDecimals?: DisplayDecimals | undefined;
}

/** True for a value whose scale only the deployment's owner can know. */
export function hasOwnersScale({ unit, isLikelyTime }: Field): boolean {
  return unit === "raw" && isLikelyTime !== true;
}

/** Every key that there is, in the order of the operations table. */
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
 * The decimals that are declared of a value, by itself or with all of its
 * reading.
 *
 * @param key The reading's, as in `pools`.
 */
export function declaredDecimals(
  displayDecimals: DisplayDecimals | undefined,
  key: string,
  field: Field,
): number | undefined {
  const declared: Readonly<Record<string, number | undefined>> =
    displayDecimals ?? {};
  return hasOwnersScale(field)
    ? (declared[`${key}.${field.name}`] ?? declared[key])
    : undefined;
}

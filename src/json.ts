import { VaultError } from "./errors.js";

/** Returns the items of a list; of anything else, an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the properties of an object; of anything else, an empty record. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? // properties of an unknown object, each still unknown; a spread would lose those of an error's prototype
      (value as Readonly<Record<string, unknown>>)
    : {};
}

/**
 * Converts a result for `JSON.stringify()`, at any depth: a bigint to a decimal string,
 * a `VaultError` to its code and message.
 *
 * @example
 * ```ts
 * JSON.stringify(toJsonValue({ price: 7n }));
 * // '{"price":"7"}'
 * ```
 */
export function toJsonValue(
  value: unknown,
  messageOf: (error: VaultError) => string = ({ message }) => message,
): unknown {
  if (typeof value === "bigint") {
    return value.toString();
  }
  if (VaultError.isVaultError(value)) {
    return { code: value.code, message: messageOf(value) };
  }
  if (Array.isArray(value)) {
    return value.map((item) => toJsonValue(item, messageOf));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        toJsonValue(inner, messageOf),
      ]),
    );
  }
  return value;
}

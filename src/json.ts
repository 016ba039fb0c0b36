import { VaultError } from "./errors.js";

/** The items of whatever it is; none where it is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The properties of whatever it is; none where it is no object. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- properties of an unknown object, each still unknown; a spread would lose those of an error's prototype
      (value as Readonly<Record<string, unknown>>)
    : {};
}

/**
 * A value as every JSON document of ours has it, at any depth: uint256 as a
 * decimal string, an error as its code and its message.
 *
 * @param messageOf The text of an error for the reader.
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

import { VaultError } from "./errors.js";

/**
 * A value as every JSON document of ours has it, at any depth: uint256 as a
 * decimal string, an error as its code and its message.
 */
export function toJsonValue(value: unknown): unknown {
  if (typeof value === "bigint") {
    return value.toString();
  }
  if (VaultError.isVaultError(value)) {
    return { code: value.code, message: value.message };
  }
  if (Array.isArray(value)) {
    return value.map(toJsonValue);
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, toJsonValue(inner)]),
    );
  }
  return value;
}

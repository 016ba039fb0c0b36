import { MaxUint256, getAddress, isHexString, toQuantity } from "ethers";

import { invalidArgument, vaultError } from "../errors.js";
import type { GivenValue, VaultError } from "../errors.js";
import { enums } from "../protocol/index.js";
import type { EnumName } from "../protocol/index.js";
import { escapeUntrusted } from "../untrusted-text.js";

/** A block to read at: a number or one of the tags of Ethereum's JSON-RPC. */
export type BlockTag =
  number | bigint | "latest" | "safe" | "finalized" | "earliest" | "pending";

/** What lands in the wrong option or variable once in a while. */
const privateKeyLike = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/iu;

const blockTags = ["latest", "safe", "finalized", "earliest", "pending"];

const MAX_BLOCK = 2n ** 64n - 1n;

/**
 * @param where What the address is for, named in the error.
 * @returns The address with its checksum.
 * @throws VaultError VAULT_INVALID_ADDRESS
 */
export function parseAddress(
  value: unknown,
  where: string,
  shown?: string | GivenValue,
): string {
  const fail = (problem: string, given = shown): VaultError =>
    vaultError("VAULT_INVALID_ADDRESS", {
      where,
      value: given ?? givenInput(value),
      problem,
    });
  if (typeof value !== "string") {
    throw fail("not a string");
  }
  if (!isHexString(value, 20)) {
    throw fail("not 0x and 40 hex digits");
  }
  try {
    return checksumAddress(value);
  } catch {
    // An address is no secret, so it is shown in any case.
    throw fail("its checksum is wrong", givenInput(value));
  }
}

const MAX_CACHED_ADDRESSES = 10_000;
const checksumAddresses = new Map<string, string>();

/**
 * A checksum is a hash, which takes longer than to decode an order, and callers
 * and holders come again.
 */
export function checksumAddress(value: string): string {
  let address = checksumAddresses.get(value);
  if (address === undefined) {
    address = getAddress(value);
    if (checksumAddresses.size >= MAX_CACHED_ADDRESSES) {
      checksumAddresses.clear();
    }
    checksumAddresses.set(value, address);
  }
  return address;
}

/**
 * Reads a whole number as a person types it: digits, `1_000`, `65.5e18`, or 0x
 * hex.
 *
 * @returns Undefined if the text is none.
 */
export function readInteger(text: string): bigint | undefined {
  const [, whole, fraction = "", exponent = "0"] =
    /^([0-9]+(?:_[0-9]+)*)(?:\.([0-9]+))?(?:e([0-9]{1,2}))?$/u.exec(text) ?? [];
  const zeros = Number(exponent) - fraction.length;
  if (whole !== undefined && zeros >= 0) {
    return BigInt(
      `${whole.replaceAll("_", "")}${fraction}${"0".repeat(zeros)}`,
    );
  }
  return /^0x[0-9a-f]+$/iu.test(text) ? BigInt(text) : undefined;
}

/**
 * @throws VaultError VAULT_INVALID_INTEGER, VAULT_INVALID_ARGUMENT for a number
 * that JavaScript may have rounded
 */
export function parseUint256(value: unknown, where: string): bigint {
  if (isUnsigned(value, MaxUint256)) {
    return BigInt(value);
  }
  if (typeof value === "number" && Number.isInteger(value) && value > 0) {
    throw invalidArgument(
      where,
      `JavaScript rounds numbers above 2^53 - 1; pass a bigint, as in ${BigInt(value)}n`,
    );
  }
  throw vaultError("VAULT_INVALID_INTEGER", {
    where,
    bits: 256,
    value: givenInput(value),
  });
}

function isUnsigned(value: unknown, max: bigint): value is number | bigint {
  return (
    (typeof value === "bigint" ||
      (typeof value === "number" && Number.isSafeInteger(value))) &&
    value >= 0 &&
    value <= max
  );
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseCount(
  value: number | undefined,
  where: string,
): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value > 0)) {
    return value;
  }
  throw invalidArgument(
    where,
    `a whole number from 1 is needed, got ${describeInput(value)}`,
  );
}

/**
 * @param value A number that the protocol lists, or its word.
 * @throws VaultError VAULT_INVALID_ENUM
 */
export function parseEnum(
  enumName: EnumName,
  value: unknown,
  where: string,
): number {
  const listed = Object.entries(enums[enumName]);
  const found = listed.find(([word, number]) =>
    typeof value === "string"
      ? value.toLowerCase() === word
      : value === number || value === BigInt(number),
  );
  if (found === undefined) {
    const allowed = listed.map(([word, number]) => `${word} (${number})`);
    throw notOneOf(where, allowed, value);
  }
  return found[1];
}

export function notOneOf(
  where: string,
  allowed: readonly string[],
  value: unknown,
): VaultError {
  return vaultError("VAULT_INVALID_ENUM", {
    where,
    allowed: allowed.join(", "),
    value: givenInput(value),
  });
}

/**
 * @returns The block as it goes over the wire.
 * @throws VaultError VAULT_INVALID_BLOCK
 */
export function parseBlockTag(value: unknown, where = "blockTag"): string {
  if (typeof value === "string" && blockTags.includes(value)) {
    return value;
  }
  if (isUnsigned(value, MAX_BLOCK)) {
    return toQuantity(value);
  }
  throw vaultError("VAULT_INVALID_BLOCK", {
    where,
    value: givenInput(value),
  });
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for the pending block */
export function requireFixedBlock(blockTag: unknown, where: string): void {
  if (blockTag === "pending") {
    throw invalidArgument(
      where,
      "the pending block is not one fixed block, so several calls cannot be pinned to it; latest can",
    );
  }
}

/** What was passed, for an error that has a value of its own for it. */
export function givenInput(value: unknown): GivenValue {
  const shown = describeInput(value);
  return {
    shown,
    // What is not shown is not told either.
    value: typeof value === "string" && shown.startsWith('"') ? value : shown,
  };
}

/** More would overflow the timer, and so not wait at all. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseDuration(where: string, milliseconds: number): number {
  if (milliseconds >= 1 && milliseconds <= MAX_DURATION_MS) {
    return milliseconds;
  }
  throw invalidArgument(
    where,
    `from 1 to ${MAX_DURATION_MS} milliseconds (24 days) are possible, got ${describeInput(milliseconds)}`,
  );
}

/** What was passed, for an error text. */
export function describeInput(value: unknown): string {
  if (typeof value === "string" && privateKeyLike.test(value)) {
    return "64 hex digits, not shown since they may be a private key";
  }
  const text =
    typeof value === "string"
      ? JSON.stringify(value)
      : typeof value === "object" && value !== null
        ? "an object"
        : String(value);
  return escapeUntrusted(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

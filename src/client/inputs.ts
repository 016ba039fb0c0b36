import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import { getAddress, isHexString } from "ethers";

import { invalidArgument, vaultError } from "../errors.js";
import type { GivenValue, VaultError } from "../errors.js";
import { describeTime, enums } from "../protocol/index.js";
import type { Address, EnumName } from "../protocol/index.js";
import { escapeUntrusted } from "../foreign-text.js";
import { asRecord } from "../json.js";
import type { BlockId, PinnedBlock } from "../rpc/blocks.js";

const tags = ["latest", "safe", "finalized", "earliest", "pending"] as const;

/** A block to read at: a number or one of the tags of Ethereum's JSON-RPC. */
export type BlockTag = number | bigint | (typeof tags)[number];

/** Hides a private key that was passed in the wrong option or variable. */
const privateKeyLike = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/iu;

/**
 * @param where Names the address in errors.
 * @returns The address with its checksum.
 */
export function parseAddress(
  value: unknown,
  where: string,
  shown?: string | GivenValue,
): Address {
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
    // An address is no secret: show it even if other values are hidden.
    throw fail("its checksum is wrong", givenInput(value));
  }
}

/** An address, or a signer of ethers or an account of viem. */
export type AddressLike = string | { readonly address: string };

/** An account: its address, or whatever has one, as signers and contracts of ethers, and clients of viem. */
export type AccountLike =
  | AddressLike
  | { readonly account: { readonly address: string } }
  | { getAddress(): Promise<string> | string };

/** Replaces the sender by its address if only `getAddress()` has it. */
export async function withAddress<
  Options extends { readonly from?: AccountLike | undefined },
>(options: Options): Promise<Options> {
  // A contract of ethers has its members, but not by the operator `in`.
  const { address, getAddress: find } = asRecord(options.from);
  return typeof address === "string" || typeof find !== "function"
    ? options
    : // it is checked where it is used
      { ...options, from: (await find.call(options.from)) as string };
}

export function parseAccount(value: unknown, where: string): Address {
  const { account, address = asRecord(account)["address"] } = asRecord(value);
  return parseAddress(address ?? value, where);
}

/** The same few contracts and accounts are named in each call, and a hash takes long. */
const checksums = new Map<string, Address>();
const MOST_CHECKSUMS = 1_000;

/** @throws An error of ethers if it is no address, or its checksum is wrong. */
export function checksumAddress(value: string): Address {
  const known = checksums.get(value);
  if (known !== undefined) {
    return known;
  }
  // an address begins with 0x, but ethers types it as any string
  const address = getAddress(value) as Address;
  if (checksums.size < MOST_CHECKSUMS) {
    checksums.set(value, address);
  }
  return address;
}

/** Parses `1000`, `1_000`, `65.5e18` or 0x hex; undefined for any other text. */
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

/** @throws VaultError VAULT_INVALID_INTEGER, also for numbers that JavaScript rounds */
export function parseUint(value: unknown, where: string, bits = 256): bigint {
  if (isUnsigned(value, 2n ** BigInt(bits) - 1n)) {
    return BigInt(value);
  }
  throw vaultError("VAULT_INVALID_INTEGER", {
    where,
    bits,
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

/** @param value The number or its word. */
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
  return invalidArgument(
    where,
    `${describeInput(value)} is not one of ${allowed.join(", ")}`,
    "Use one of these values.",
  );
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
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

/** @returns The tag, or the number as a hex quantity. */
export function parseBlockTag(value: unknown, where = "blockTag"): string {
  const tag = tags.find((each) => each === value);
  if (tag !== undefined) {
    return tag;
  }
  if (isUnsigned(value, 2n ** 64n - 1n)) {
    return numberToHexString(value);
  }
  throw invalidArgument(
    where,
    `${describeInput(value)} is not a block`,
    "Use a block number, latest, safe, finalized or earliest.",
  );
}

/** @returns The same, or a block with its hash as it is. */
export function parseBlock(value: unknown, where = "blockTag"): BlockId {
  return isPinnedBlock(value) ? value : parseBlockTag(value, where);
}

function isPinnedBlock(value: unknown): value is PinnedBlock {
  const { number, hash } = asRecord(value);
  return (
    Number.isSafeInteger(number) &&
    (hash === undefined || isHexString(hash, 32))
  );
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for the pending block */
export function requireFixedBlock(blockTag: unknown, where: string): void {
  if (blockTag === "pending") {
    throw invalidArgument(
      where,
      "pending is not a fixed block; use a number or latest",
    );
  }
}

export function givenInput(value: unknown): GivenValue {
  const shown = describeInput(value);
  return {
    shown,
    // A hidden key stays out of the details, too.
    value: typeof value === "string" && shown.startsWith('"') ? value : shown,
  };
}

/** A longer timer overflows and fires at once. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

export function parseDuration(where: string, milliseconds: number): number {
  if (milliseconds >= 1 && milliseconds <= MAX_DURATION_MS) {
    return milliseconds;
  }
  throw invalidArgument(
    where,
    `from 1 to ${MAX_DURATION_MS} milliseconds (24 days) are possible, got ${describeInput(milliseconds)}`,
  );
}

export function describeInput(value: unknown): string {
  if (typeof value === "string" && privateKeyLike.test(value)) {
    return "64 hex digits, not shown since they may be a private key";
  }
  const text =
    typeof value === "string"
      ? JSON.stringify(value)
      : Array.isArray(value)
        ? "a list"
        : typeof value === "object" && value !== null
          ? "an object"
          : String(value);
  return escapeUntrusted(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

const spanSeconds: Readonly<Record<string, bigint>> = {
  s: 1n,
  m: 60n,
  h: 3_600n,
  d: 86_400n,
  w: 604_800n,
};

/**
 * Parses Unix seconds, a span from the chain's clock such as `+1h`, or an ISO date.
 * A date without a zone is UTC. Fractions of a second are dropped. Seconds that could be
 * milliseconds are refused.
 *
 * @param words Other values that the caller accepts, for the error.
 */
export function parseTime(
  text: string,
  where: string,
  chainTime: number,
  words: readonly string[] = [],
): bigint {
  if (/^[0-9]+$/u.test(text)) {
    const seconds = parseUint(BigInt(text), where);
    refuseMilliseconds(seconds, where);
    return seconds;
  }
  const [, count, spanUnit = ""] = /^\+([0-9]+)([smhdw])$/u.exec(text) ?? [];
  if (count !== undefined) {
    return parseUint(
      BigInt(chainTime) + BigInt(count) * (spanSeconds[spanUnit] ?? 0n),
      where,
    );
  }
  const [, date, time = "T00:00:00", zone = "Z"] =
    /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?(Z|[+-]\d{2}:\d{2})?$/u.exec(
      text,
    ) ?? [];
  const milliseconds = Date.parse(`${date ?? ""}${time}${zone}`);
  // Date.parse turns 31 February into March, which the comparison detects.
  const isRealDate =
    date !== undefined &&
    !Number.isNaN(milliseconds) &&
    new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  if (!isRealDate || milliseconds < 0) {
    const form = [...words, "a time"].join(" or ");
    throw invalidArgument(
      where,
      `${describeInput(text)} is not ${form}`,
      "Use an ISO date (2026-01-31 or 2026-01-31T12:00:00Z), a span from the chain's clock (+7d, +12h, +30m) or Unix seconds.",
    );
  }
  return BigInt(Math.floor(milliseconds / 1_000));
}

/** Refuses seconds from the year 5138 on which are a time before that year in milliseconds. */
function refuseMilliseconds(time: bigint, where: string): void {
  if (time >= 10n ** 11n && time < 10n ** 14n) {
    const seconds = time / 1_000n;
    throw invalidArgument(
      where,
      `${time} is ${describeTime(time)} in seconds, and ${describeTime(seconds)} in milliseconds`,
      `Give seconds: ${seconds}.`,
    );
  }
}

/** @throws VaultError VAULT_INVALID_ARGUMENT if the chain's clock has reached the time */
export function requireFuture(
  time: bigint,
  where: string,
  chainTime: number,
): void {
  if (time <= BigInt(chainTime)) {
    throw invalidArgument(
      where,
      `${describeTime(time)} is not after the chain's clock (${describeTime(BigInt(chainTime))})`,
      "Give a later time.",
    );
  }
}

/** An option of a schema: its name is the key, and this carries the type of its value. */
export interface Optional<Value> {
  /** For the compiler only. */
  readonly type?: Value;
}

/** @returns An option whose value has this type. */
export function optional<Value>(): Optional<Value> {
  return {};
}

/** Options that a function takes, each of which may be left out or undefined. */
export type OptionsOf<Schema> = {
  readonly [Name in keyof Schema]?:
    | (Schema[Name] extends Optional<infer Value> ? Value : never)
    | undefined;
};

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
  noun: "argument" | "contract" | "field" | "option",
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
      `${describeInput(other)} is not ${noun === "contract" || noun === "field" ? "a" : "an"} ${noun}; ${known}`,
    );
  }
  return asRecord(given);
}

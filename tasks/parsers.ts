import { ZeroAddress, parseUnits } from "ethers";

import { fixedAddresses } from "../src/client/addresses.js";
import type { ContractAddresses } from "../src/client/addresses.js";
import {
  MAX_DURATION_MS,
  describeInput,
  givenInput,
  notOneOf,
  parseAddress,
  parseBlockTag,
  parseUint256,
  readInteger,
  requireFixedBlock,
} from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { parseTime, requireFuture } from "../src/client/parse-time.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { requireScenario } from "../src/mocks/scenarios.js";
import type { ScenarioName } from "../src/mocks/scenarios.js";
import { groupDigits, units } from "../src/protocol/index.js";
import type { Address } from "../src/protocol/index.js";

/** The scales of amounts and percentages. */
export interface Scales {
  /** True for `--raw`: unscaled integers. */
  readonly raw: boolean;
  /** Undefined if they are not configured; recorded mocks may have them. */
  readonly tokenDecimals: number | undefined;
}

/**
 * Makes a value of a text, without any request.
 *
 * @param where Names the option in errors.
 */
export type Parse<Value> = (
  text: string,
  where: string,
  scales: Scales,
) => Value;

/** A time that may count from the chain's clock. */
export class Time {
  public constructor(
    /** The text as typed. */
    public readonly text: string,
    /** @throws VaultError VAULT_TIME_IN_PAST */
    public readonly after: (chainTime: number) => bigint,
  ) {}
}

/** An amount of tokens whose decimals are not configured. */
export class Amount {
  public constructor(
    /** @throws VaultError VAULT_INVALID_DECIMAL */
    public readonly scaledBy: (tokenDecimals: number) => bigint,
    /** Names the option in errors. */
    public readonly where: string,
  ) {}
}

/** Chosen ids, or a range; without `lastId`, to the end of the list. */
export type OrderSelection =
  | { readonly ids: readonly bigint[]; readonly lastId?: undefined }
  | {
      readonly ids?: undefined;
      readonly firstId: bigint;
      readonly lastId: bigint | undefined;
    };

export function parseText(text: string): string {
  return text;
}

export function parseFile(text: string, where: string): string {
  if (text === "") {
    throw invalidArgument(where, "a file name is needed, and it is empty");
  }
  return text;
}

export function parseScenario(text: string): ScenarioName {
  return requireScenario(text);
}

export function parseWord<Word extends string>(
  words: readonly Word[],
): Parse<Word> {
  return (text, where) => {
    const found = words.find((word) => word === text);
    if (found === undefined) {
      throw notOneOf(where, words, text);
    }
    return found;
  };
}

export function parseAddresses(
  text: string,
  where: string,
): readonly Address[] {
  return text.split(",").map((part) => parseAddress(part.trim(), where));
}

export function parseOneAddress(text: string, where: string): Address {
  return parseAddress(text, where);
}

/** @returns An empty list for `none`. */
export function parseTokens(text: string, where: string): readonly string[] {
  return text === "none" ? [] : parseAddresses(text, where);
}

/** @returns The zero address for `anyone`. */
export function parseSettler(text: string, where: string): string {
  return text === "anyone" ? ZeroAddress : parseAddress(text, where);
}

/** Parses `vault=0x…,trading=0x…`. */
export function parseRoles(text: string, where: string): ContractAddresses {
  const pairs = text.split(",").map((part) => part.trim().split("="));
  const addresses = Object.fromEntries(
    pairs.map(([role = "", address = ""]) => [role, address]),
  );
  if (
    pairs.some(({ length }) => length !== 2) ||
    Object.keys(addresses).length < pairs.length
  ) {
    throw invalidArgument(
      where,
      `role=0x…[,role=0x…] is needed, each role once, got ${describeInput(text)}`,
    );
  }
  fixedAddresses(addresses, where);
  return addresses;
}

export function parseBlock(text: string, where: string): BlockTag {
  const value = readInteger(text) ?? text;
  parseBlockTag(value, where);
  // the check above, which returns another form, accepts only these
  return value as BlockTag;
}

/** A block that several calls can be pinned to, unlike `pending`. */
export function parseFixedBlock(
  text: string,
  where: string,
): Exclude<BlockTag, "pending"> {
  const block = parseBlock(text, where);
  requireFixedBlock(block, where);
  // checked above
  return block as Exclude<BlockTag, "pending">;
}

/** @returns Milliseconds. */
export function parseSeconds(least: number): Parse<number> {
  return (text, where) => {
    const most = Math.floor(MAX_DURATION_MS / 1_000);
    const seconds = /^[0-9]{1,9}(?:\.[0-9]+)?$/u.test(text)
      ? Number(text)
      : NaN;
    if (seconds >= least && seconds <= most) {
      // Timers take no fractions, which the product of 9.8 has, too.
      return Math.ceil(seconds * 1_000);
    }
    throw invalidArgument(
      where,
      `a number of seconds from ${least} to ${most} is needed, got ${describeInput(text)}`,
    );
  };
}

export function parseInteger(text: string, where: string): bigint {
  return parseUint256(readInteger(text) ?? text, where);
}

/** Parses `50gwei` or `1000wei`. */
export function parseGasPrice(text: string, where: string): bigint {
  const [, number, unit] = /^(.*?)\s*(wei|gwei)$/u.exec(text) ?? [];
  if (number === undefined || unit === undefined) {
    throw invalidArgument(
      where,
      `a number with its unit, wei or gwei, is needed, got ${describeInput(text)}`,
      "Write for example 50gwei.",
    );
  }
  return parseDecimal(number, where, unit === "gwei" ? 9 : 0);
}

export function parseAmount(
  text: string,
  where: string,
  { raw, tokenDecimals }: Scales,
): bigint | Amount {
  const scaledBy = (decimals: number): bigint =>
    parseDecimal(text, where, decimals);
  return raw
    ? parseInteger(text, where)
    : tokenDecimals === undefined
      ? new Amount(scaledBy, where)
      : scaledBy(tokenDecimals);
}

export function parsePercent(
  text: string,
  where: string,
  { raw }: Scales,
): bigint {
  return raw
    ? parseInteger(text, where)
    : parseDecimal(text, where, units.percent.decimals);
}

/** Parses a decimal number; refuses more digits than the scale has. */
function parseDecimal(text: string, where: string, decimals: number): bigint {
  const value = givenInput(text);
  try {
    return parseUint256(parseUnits(text, decimals), where);
  } catch (error) {
    throw vaultError(
      "VAULT_INVALID_DECIMAL",
      { where, value, decimals },
      error,
    );
  }
}

/** @param words Other values of the option. */
export function parseFuture<Word extends string>(
  words: readonly Word[],
): Parse<Time | Word> {
  return (text, where) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) {
      return found;
    }
    const read = (chainTime: number): bigint =>
      parseTime(text, where, chainTime, words);
    // Refuses a malformed time before any request.
    read(0);
    return new Time(text, (chainTime) => {
      const time = read(chainTime);
      requireFuture(time, where, chainTime);
      return time;
    });
  };
}

/** Parses `7` or `5-9`. */
function parseRange(
  text: string,
  where: string,
): { readonly firstId: bigint; readonly lastId: bigint } {
  const [first = "", last = first, ...more] = text.split("-");
  const [firstId = 0n, lastId = firstId] = [first, last].map((id) =>
    parseInteger(id.trim(), `An id in ${where}`),
  );
  if (more.length > 0 || lastId < firstId) {
    throw invalidArgument(
      where,
      `${describeInput(text)} is not a range, as in 5-9`,
    );
  }
  return { firstId, lastId };
}

/** Parses a list, or one range of any length. */
export function parseOrders(text: string, where: string): OrderSelection {
  const [, first = "", last = ""] = /^([^,-]+)-([^,-]*)$/u.exec(text) ?? [];
  if (first === "") {
    return { ids: listIds(text, where, 10_000) };
  }
  return last === ""
    ? { firstId: parseInteger(first, where), lastId: undefined }
    : parseRange(text, where);
}

/** Parses `1,2,5-9`. */
export function parseIds(most: number): Parse<readonly bigint[]> {
  return (text, where) => listIds(text, where, most);
}

function listIds(text: string, where: string, most: number): readonly bigint[] {
  const ids = new Set<bigint>();
  for (const part of text.split(",")) {
    const { firstId, lastId } = parseRange(part, where);
    for (let id = firstId; id <= lastId; id += 1n) {
      ids.add(id);
      if (ids.size > most) {
        const count = groupDigits(String(most));
        throw invalidArgument(where, `at most ${count} orders can be named`);
      }
    }
  }
  return [...ids];
}

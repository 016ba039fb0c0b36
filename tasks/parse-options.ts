import { ZeroAddress, parseUnits } from "ethers";

import { fixedAddresses } from "../src/client/contracts.js";
import type { ContractAddresses } from "../src/client/contracts.js";
import {
  MAX_DURATION_MS,
  describeInput,
  notOneOf,
  parseAddress,
  parseBlockTag,
  parseUint,
  readInteger,
  parseTime,
  requireFixedBlock,
  requireFuture,
} from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import type { OrdersOptions } from "../src/client/orders.js";
import { invalidArgument } from "../src/errors.js";
import { groupDigits, units } from "../src/protocol/index.js";

/** Options as Hardhat passes them: texts, and booleans for flags. */
export type RawArgs = Readonly<Record<string, unknown>>;

/** An option, a flag, or an argument that is typed without a flag. */
export interface TaskOption<Value = unknown> {
  readonly kind: "flag" | "option" | "positional" | "variadic";
  /** Purpose, form of the values, default. */
  readonly help: string;
  readonly isRequired: boolean;
  /** None for a flag, and for a list of texts. */
  readonly parse?: Form;
  /** Never set: the type of the parsed value. */
  readonly value?: Value;
}

/** A task as the help shows it. `Values` is the type of its parsed options. */
export interface Task<Values = unknown> {
  readonly description: string;
  /** By name, in camel case. */
  readonly options: Readonly<Record<string, TaskOption>>;
  /** Never set: as the value of an option. */
  readonly values?: Values;
}

/** How a text becomes a value: by one of the parsers, or as one of these words. */
export type Form = keyof Parsers | readonly string[];
type Parsers = typeof parsers;

export type Parsed<By> = By extends keyof Parsers
  ? ReturnType<Parsers[By]>
  : By extends ReadonlyArray<infer Word>
    ? Word
    : never;

/** Of each row, a task takes one option. */
const alternatives = [
  ["json", "format"],
  ["raw", "scaled"],
  ["all", "at"],
  ["all", "instance"],
  ["block", "toBlock"],
  ["bump", "cancel"],
  ["assert", "calldata", "resume", "retryReverted"],
  ["calldata", "partial"],
  ["calldata", "maxFeePerGas"],
];

/** Flags that do nothing without another one. */
const needed = [
  ["safe", "calldata"],
  ["bump", "resume"],
  ["cancel", "resume"],
] as const;

/**
 * Parses a task's options, without any request.
 *
 * @throws VaultError also for options that exclude each other, or need another one
 */
export function parseTaskValues<Values>(
  { options }: Task<Values>,
  rawArgs: RawArgs,
): Values {
  const parsed = Object.entries(options).map(([name, option]) => [
    name,
    parseOption(name, option, rawArgs),
  ]);
  const isGiven = (name: string): boolean => (rawArgs[name] ?? false) !== false;
  for (const names of alternatives) {
    const given = names.filter(isGiven).map(toFlag);
    if (given.length > 1) {
      const problem = "they exclude each other";
      throw invalidArgument(given.join(" and "), problem, "Use one of them.");
    }
  }
  for (const [name, other] of needed) {
    if (isGiven(name) && !isGiven(other)) {
      const flag = toFlag(other);
      throw invalidArgument(toFlag(name), `it needs ${flag}`, `Add ${flag}.`);
    }
  }
  // each option is parsed to a value of its type
  return Object.fromEntries(parsed) as Values;
}

function parseOption(
  name: string,
  { kind, help: form, isRequired, parse }: TaskOption,
  rawArgs: RawArgs,
): unknown {
  const given = rawArgs[name];
  if (kind === "flag") {
    return given === true;
  }
  const flag = toFlag(name);
  const where = kind === "option" ? flag : `<${flag.slice(2)}>`;
  const texts = [given ?? []].flat().map(String);
  const [text] = texts;
  if (isRequired && text === undefined) {
    throw invalidArgument(where, "it is required", `Pass ${where}. ${form}.`);
  }
  if (parse === undefined) {
    return texts;
  }
  const parser = typeof parse === "string" ? parsers[parse] : oneOf(parse);
  return text === undefined
    ? undefined
    : parser(text, where, rawArgs["raw"] === true);
}

/** `--at-time` for `atTime`. */
export function toFlag(option: string): string {
  return `--${option.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * Makes a value of a text, without any request.
 *
 * @param where Names the option in errors.
 * @param isRaw True for `--raw`: amounts and percentages are unscaled integers.
 */
type Parse<Value> = (text: string, where: string, isRaw: boolean) => Value;

/** Most ids that one option can name. */
const MOST_IDS = 10_000;

/** By the form that an option names. */
export const parsers = {
  text: (text) => text,
  address: (text, where) => parseAddress(text, where),
  /** An empty list for `none`. */
  tokens: (text, where) =>
    text === "none"
      ? []
      : text.split(",").map((part) => parseAddress(part.trim(), where)),
  /** The zero address for `anyone`. */
  settler: (text, where) =>
    text === "anyone" ? ZeroAddress : parseAddress(text, where),
  roles: parseRoles,
  block: parseBlock,
  fixedBlock: (text, where) => {
    const block = parseBlock(text, where);
    requireFixedBlock(block, where);
    return block;
  },
  integer: parseInteger,
  count: (text, where) => Number(parseInteger(text, where)),
  /** Milliseconds, typed in seconds. */
  seconds: parseSeconds,
  /** Wei per gas. */
  gasPrice: parseGasPrice,
  /** Unscaled with `--raw`; else a text in tokens, whose decimals are not known yet. */
  amount: (text, where, isRaw) => (isRaw ? parseInteger(text, where) : text),
  /** Unscaled, typed in percent. */
  percent: (text, where, isRaw) =>
    isRaw
      ? parseInteger(text, where)
      : parseDecimal(text, where, units.percent.decimals),
  futureTime: timeOr(),
  settlementTime: timeOr("end"),
  watchEnd: timeOr("settled", "expired"),
  ids: parseIds,
  orders: parseOrders,
} as const satisfies Readonly<Record<string, Parse<unknown>>>;

function oneOf(words: readonly string[]): Parse<string> {
  return (text, where) => {
    if (!words.includes(text)) {
      throw notOneOf(where, words, text);
    }
    return text;
  };
}

/** Parses `vault=0x…,trading=0x…`. */
function parseRoles(text: string, where: string): ContractAddresses {
  const pairs = text.split(",").map((part) => part.trim().split("="));
  const roles = new Set(pairs.map(([role]) => role));
  if (pairs.some(({ length }) => length !== 2) || roles.size < pairs.length) {
    throw invalidArgument(
      where,
      `role=0x…[,role=0x…] is needed, each role once, got ${describeInput(text)}`,
    );
  }
  const addresses: ContractAddresses = Object.fromEntries(
    pairs.map(([role = "", address = ""]) => [role, address]),
  );
  fixedAddresses(addresses, where);
  return addresses;
}

function parseBlock(text: string, where: string): BlockTag {
  const value = readInteger(text) ?? text;
  parseBlockTag(value, where);
  // the check above, which returns another form, accepts only these
  return value as BlockTag;
}

/** @returns Whole milliseconds, as timers need them. */
function parseSeconds(text: string, where: string): number {
  const isNumber = /^[0-9]{1,9}(?:\.[0-9]+)?$/u.test(text);
  const milliseconds = isNumber ? Math.ceil(Number(text) * 1_000) : 0;
  if (milliseconds < 1 || milliseconds > MAX_DURATION_MS) {
    const most = Math.floor(MAX_DURATION_MS / 1_000);
    throw invalidArgument(
      where,
      `a number of seconds from 0.001 to ${most} is needed, got ${describeInput(text)}`,
    );
  }
  return milliseconds;
}

export function parseInteger(text: string, where: string): bigint {
  return parseUint(readInteger(text) ?? text, where);
}

/** Parses `50gwei` or `1000wei`. */
export function parseGasPrice(text: string, where: string): bigint {
  const [, number, unit] = /^(.*?)\s*(wei|gwei)$/u.exec(text) ?? [];
  if (number === undefined) {
    throw invalidArgument(
      where,
      `a number with its unit, wei or gwei, is needed, got ${describeInput(text)}`,
      "Write for example 50gwei.",
    );
  }
  return parseDecimal(number, where, unit === "gwei" ? 9 : 0);
}

/** Parses a decimal number; refuses more digits than the scale has. */
export function parseDecimal(
  text: string,
  where: string,
  decimals: number,
): bigint {
  try {
    return parseUint(parseUnits(text, decimals), where);
  } catch {
    throw invalidArgument(
      where,
      `not a decimal number from 0 up, with at most ${decimals} digits after the point and at most 256 bits: ${describeInput(text)}`,
      "Write digits and at most one point, for example 12.5. The number is never rounded.",
    );
  }
}

/**
 * The text of a time, which may count from the chain's clock, or one of the words. Refuses a
 * malformed one before any request.
 */
function timeOr(...words: readonly string[]): Parse<string> {
  return (text, where) => {
    if (!words.includes(text)) {
      parseTime(text, where, 0, words);
    }
    return text;
  };
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function parseFutureTime(
  text: string,
  where: string,
  chainTime: number,
): bigint {
  const time = parseTime(text, where, chainTime);
  requireFuture(time, where, chainTime);
  return time;
}

/** Parses a list, or one range of any length, which may have no end. */
function parseOrders(
  text: string,
  where: string,
): Pick<OrdersOptions, "ids" | "firstId" | "lastId"> {
  if (text.includes(",") || !text.includes("-")) {
    return { ids: parseIds(text, where) };
  }
  return text.endsWith("-")
    ? { firstId: parseId(text.slice(0, -1), where) }
    : parseRange(text, where);
}

/** Parses `1,2,5-9`. */
function parseIds(text: string, where: string): readonly bigint[] {
  const ids = new Set<bigint>();
  for (const part of text.split(",")) {
    const { firstId, lastId } = parseRange(part, where);
    for (let id = firstId; id <= lastId; id += 1n) {
      ids.add(id);
      if (ids.size > MOST_IDS) {
        const count = groupDigits(`${MOST_IDS}`);
        throw invalidArgument(where, `at most ${count} orders can be named`);
      }
    }
  }
  return [...ids];
}

/** Parses `7` or `5-9`. */
function parseRange(
  text: string,
  where: string,
): { readonly firstId: bigint; readonly lastId: bigint } {
  const [firstId = 0n, lastId = firstId, ...more] = text
    .split("-")
    .map((id) => parseId(id, where));
  if (more.length > 0 || lastId < firstId) {
    throw invalidArgument(
      where,
      `${describeInput(text)} is not a range, as in 5-9`,
    );
  }
  return { firstId, lastId };
}

function parseId(text: string, where: string): bigint {
  return parseInteger(text.trim(), `An id in ${where}`);
}

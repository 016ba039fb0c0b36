import { parseUnits } from "ethers";
import type { NetworkConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

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
import { parseTime, requireFuture } from "../src/client/parse-time.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { settingsOf } from "../src/plugin/addresses.js";
import { groupDigits, units } from "../src/protocol/index.js";
import type { Field } from "../src/protocol/index.js";
import { FORK_NETWORK } from "../src/simulation/fork-network.js";
import { describeArgument, kindOf } from "./arguments.js";
import type {
  Argument,
  Arguments,
  CommonValues,
  OrderSelection,
  Time,
  ValuesOf,
} from "./arguments.js";

/** Arguments as Hardhat passes them: texts, and booleans for flags. */
export type TypedArguments = Readonly<Record<string, unknown>>;

/** Parses a task's arguments, without any request. */
export function parseArguments<Described extends Arguments>(
  described: Described,
  typed: TypedArguments,
  hre: HardhatRuntimeEnvironment,
): ValuesOf<Described> & CommonValues {
  const values = Object.entries(described).map(([name, argument]) => {
    const { required, position } = argument;
    const given = typed[name] ?? (position === "many" ? [] : undefined);
    const flag = toFlag(name);
    const where = position === undefined ? flag : `<${flag.slice(2)}>`;
    const parse = (text: unknown): unknown =>
      parseValue(argument, String(text), where, () =>
        scaleOf(argument, where, typed, hre),
      );
    if (
      required === true &&
      (given === undefined || (Array.isArray(given) && given.length === 0))
    ) {
      const form = describeArgument(argument);
      throw vaultError("VAULT_MISSING_OPTION", { where, form });
    }
    return [
      name,
      Array.isArray(given)
        ? given.map(parse)
        : given === undefined || typeof given === "boolean"
          ? given
          : parse(given),
    ] as const;
  });
  // each value is parsed by the kind that its type comes from
  return Object.fromEntries(values) as ValuesOf<Described> & CommonValues;
}

function parseValue(
  argument: Argument,
  text: string,
  where: string,
  findDecimals: () => number | undefined,
): unknown {
  const { words = [], limit } = argument;
  const { kind } = kindOf(argument);
  if (words.includes(text)) {
    return text;
  }
  switch (kind) {
    case "flag":
    case "text":
      return text;
    case "file":
      if (text === "") {
        throw invalidArgument(where, "a file name is needed, and it is empty");
      }
      return text;
    case "address":
      return parseAddress(text, where);
    case "addresses":
      return text.split(",").map((part) => parseAddress(part.trim(), where));
    case "roles":
      return parseRoles(text, where);
    case "fixedBlock":
    case "block": {
      const value = readInteger(text) ?? text;
      parseBlockTag(value, where);
      if (kind === "fixedBlock") {
        requireFixedBlock(value, where);
      }
      return value;
    }
    case "ids":
      return parseIds(text, where, limit);
    case "orders":
      return parseOrders(text, where);
    case "time":
      return parseFutureTime(text, where, words);
    case "seconds":
      return parseSeconds(text, where, limit);
    case "integer":
      return parseInteger(text, where);
    case "gasPrice":
      return parseGasPrice(text, where);
    case "amount":
    case "percent":
      return parseDecimal(text, where, findDecimals());
    case "choice":
      throw notOneOf(where, words, text);
  }
}

/** The decimals of an amount or a percentage; undefined with `--raw`. */
function scaleOf(
  argument: Argument,
  where: string,
  { raw, instance }: TypedArguments,
  hre: HardhatRuntimeEnvironment,
): number | undefined {
  if (raw === true) {
    return undefined;
  }
  if ("percent" in argument) {
    return units.percent.decimals;
  }
  const { name: network, config } = selectedNetwork(hre);
  const name = typeof instance === "string" ? instance : undefined;
  const { tokenDecimals } = settingsOf(network, config, name);
  if (tokenDecimals === undefined) {
    const details = { where, network };
    throw vaultError("VAULT_TOKEN_DECIMALS_NOT_CONFIGURED", details);
  }
  return tokenDecimals;
}

/** The network of `--network`, or Hardhat's default one. */
export function selectedNetwork(hre: HardhatRuntimeEnvironment): {
  readonly name: string;
  readonly config: NetworkConfig;
} {
  const { networks } = hre.config;
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- typed as always there, but undefined without --network
  const name = hre.globalOptions.network ?? "default";
  const config = Object.hasOwn(networks, name) ? networks[name] : undefined;
  if (config === undefined) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "--network",
      value: givenInput(name),
      allowed: Object.keys(networks)
        .filter((known) => known !== FORK_NETWORK)
        .join(", "),
    });
  }
  return { name, config };
}

function parseRoles(text: string, where: string): ContractAddresses {
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

function parseSeconds(text: string, where: string, least = 0.001): number {
  const most = Math.floor(MAX_DURATION_MS / 1_000);
  const seconds = /^[0-9]{1,9}(?:\.[0-9]+)?$/u.test(text) ? Number(text) : NaN;
  if (seconds >= least && seconds <= most) {
    return seconds * 1_000;
  }
  throw invalidArgument(
    where,
    `a number of seconds from ${least} to ${most} is needed, got ${describeInput(text)}`,
  );
}

export function parseInteger(text: string, where: string): bigint {
  return parseUint256(readInteger(text) ?? text, where);
}

/** Parses `50gwei` or `1000wei`. */
function parseGasPrice(text: string, where: string): bigint {
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

/** Parses a decimal number; refuses more digits than the scale has. */
function parseDecimal(
  text: string,
  where: string,
  decimals: number | undefined,
): bigint {
  if (decimals === undefined) {
    return parseInteger(text, where);
  }
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

function parseFutureTime(
  text: string,
  where: string,
  words: readonly string[],
): Time {
  const read = (chainTime: number): bigint =>
    parseTime(text, where, chainTime, words);
  // Refuses a malformed time before any request.
  read(0);
  return {
    text,
    after: (chainTime) => {
      const time = read(chainTime);
      requireFuture(time, where, chainTime);
      return time;
    },
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
function parseOrders(text: string, where: string): OrderSelection {
  const [, first = "", last = ""] = /^([^,-]+)-([^,-]*)$/u.exec(text) ?? [];
  if (first === "") {
    return { ids: parseIds(text, where) };
  }
  return last === ""
    ? { firstId: parseInteger(first, where), lastId: undefined }
    : parseRange(text, where);
}

/** Parses `1,2,5-9`. */
function parseIds(
  text: string,
  where: string,
  most = 10_000,
): readonly bigint[] {
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

/** Several arguments become one object, as `vault.read` takes them. */
export function toCallArguments(
  inputs: readonly Field[],
  given: readonly unknown[],
): readonly unknown[] {
  return inputs.length <= 1
    ? given
    : [
        Object.fromEntries(
          inputs.map(({ name }, index) => [name, given[index]]),
        ),
      ];
}

/** `--at-time` for `atTime`. */
export function toFlag(option: string): string {
  return `--${option.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
}

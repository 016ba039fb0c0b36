import { parseUnits } from "ethers";

import {
  describeInput,
  parseBlockTag,
  parseUint256,
} from "../src/client/inputs.js";
import type { BlockTag } from "../src/client/inputs.js";
import { parseTime } from "../src/client/parse-time.js";
import { vaultError } from "../src/errors.js";
import { enumNames, units } from "../src/protocol/index.js";
import type { ContractTypeName, Field } from "../src/protocol/index.js";
import { formatTimestamp } from "./output/time.js";

/** What the values of options are read against. */
export interface ParseContext {
  readonly network: string;
  readonly tokenDecimals: number | undefined;
  /**
   * The chain's clock, Unix seconds. Before it is known, only the form of a time
   * can be checked.
   */
  readonly chainTime: number | undefined;
  /** Integers as on the wire. */
  readonly raw: boolean;
}

/**
 * Reads a whole number as a person types it: decimal digits or 0x hex.
 *
 * @throws VaultError VAULT_INVALID_INTEGER
 */
export function parseInteger(text: string, where: string): bigint {
  const isInteger = /^(?:[0-9]+|0x[0-9a-fA-F]+)$/u.test(text);
  return parseUint256(isInteger ? BigInt(text) : text, where);
}

/**
 * Reads `--block`.
 *
 * @throws VaultError VAULT_INVALID_BLOCK
 */
export function parseBlock(text: string | undefined): BlockTag {
  const value =
    text !== undefined && /^(?:[0-9]+|0x[0-9a-fA-F]+)$/u.test(text)
      ? BigInt(text)
      : (text ?? "latest");
  parseBlockTag(value, "--block");
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the line above has refused everything that is not a block tag
  return value as BlockTag;
}

/**
 * Reads the value of an operation's argument by the argument's unit: tokens,
 * percent, a time, or (with `raw`) the integer of the wire.
 *
 * @throws VaultError VAULT_INVALID_INTEGER, VAULT_INVALID_ENUM,
 * VAULT_INVALID_DECIMAL, VAULT_TOO_MANY_DIGITS, VAULT_INVALID_TIME, VAULT_TIME_IN_PAST,
 * VAULT_TOKEN_DECIMALS_NOT_CONFIGURED
 */
export function parseArgument(
  { unit, option, name }: Field,
  text: string,
  context: ParseContext,
): bigint | string {
  const where = optionName(option ?? name, unit);
  const { raw, tokenDecimals, network } = context;
  switch (unit) {
    case "contractType":
      return parseContractTypeName(text, where);
    case "timestamp":
      return parseFutureTime(text, where, context);
    case "percent":
      return raw
        ? parseInteger(text, where)
        : parseDecimal(text, where, units.percent.decimals);
    case "token":
      if (raw) {
        return parseInteger(text, where);
      }
      if (tokenDecimals === undefined) {
        throw vaultError("VAULT_TOKEN_DECIMALS_NOT_CONFIGURED", {
          where,
          network,
        });
      }
      return parseDecimal(text, where, tokenDecimals);
    case "rate":
    case "price":
    case "raw":
    case "orderState":
    case "none":
      return parseInteger(text, where);
  }
}

function parseContractTypeName(text: string, where: string): ContractTypeName {
  const names = Object.values(enumNames.contractType);
  const name = names.find((each) => each === text);
  if (name === undefined) {
    throw vaultError("VAULT_INVALID_ENUM", {
      where,
      allowed: names.join(", "),
      value: describeInput(text),
    });
  }
  return name;
}

/** How a person writes the option: `--max-volume`, or a positional's name. */
export function optionName(option: string, unit: Field["unit"]): string {
  const kebab = option.replaceAll(
    /[A-Z]/gu,
    (letter) => `-${letter.toLowerCase()}`,
  );
  return unit === "none" ? `<${kebab}>` : `--${kebab}`;
}

/**
 * Reads a decimal number exactly: more digits than the scale holds are refused,
 * never rounded.
 */
function parseDecimal(text: string, where: string, decimals: number): bigint {
  const value = describeInput(text);
  if (!/^(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/u.test(text)) {
    throw vaultError("VAULT_INVALID_DECIMAL", { where, value });
  }
  try {
    return parseUint256(parseUnits(text, decimals), where);
  } catch (error) {
    throw vaultError(
      "VAULT_TOO_MANY_DIGITS",
      { where, value, decimals },
      error,
    );
  }
}

function parseFutureTime(
  text: string,
  where: string,
  { chainTime, raw }: ParseContext,
): bigint {
  const time = raw
    ? parseInteger(text, where)
    : parseTime(text, where, chainTime ?? 0);
  if (chainTime !== undefined && time <= BigInt(chainTime)) {
    throw vaultError("VAULT_TIME_IN_PAST", {
      where,
      value: formatTimestamp(time),
      chainTime: formatTimestamp(BigInt(chainTime)),
    });
  }
  return time;
}

/** Most ids that one `--orders` may name. */
const MAX_ORDERS = 10_000n;

/**
 * Reads `--orders`: ids and ranges, as in `1,2,5-9`.
 *
 * @throws VaultError VAULT_INVALID_INTEGER, VAULT_INVALID_ARGUMENT
 */
export function parseOrderIds(text: string): readonly bigint[] {
  const ids = new Set<bigint>();
  for (const part of text.split(",")) {
    const [firstText = "", lastText = firstText, ...more] = part
      .split("-")
      .map((id) => id.trim());
    const first = parseInteger(firstText, "--orders");
    const last = parseInteger(lastText, "--orders");
    if (more.length > 0 || last < first) {
      throw invalidOrders(`${describeInput(part)} is not a range, as in 5-9`);
    }
    if (last - first >= MAX_ORDERS) {
      throw invalidOrders(`at most ${MAX_ORDERS} orders can be named`);
    }
    for (let id = first; id <= last; id += 1n) {
      ids.add(id);
    }
  }
  return [...ids];
}

function invalidOrders(problem: string): Error {
  return vaultError("VAULT_INVALID_ARGUMENT", { where: "--orders", problem });
}

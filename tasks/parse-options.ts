import { parseUnits } from "ethers";

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
import {
  invalidArgument,
  textsForCommandLine,
  vaultError,
} from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { toJsonValue } from "../src/json.js";
import { enumWords, units, groupDigits } from "../src/protocol/index.js";
import type { Field } from "../src/protocol/index.js";
import type { ReadArguments } from "./arguments.js";

/** What the values of options are read against. */
export interface ParseContext {
  readonly network: string;
  readonly tokenDecimals: number | undefined;
  /** Integers as on the wire. */
  readonly raw: boolean;
}

/** The value of an argument, or how to tell it once the chain's clock is known. */
export type ParsedArgument = bigint | string | ((chainTime: number) => bigint);

/** The block, the sender and the deadline of reads. */
export interface ReadTarget {
  readonly blockTag: BlockTag;
  readonly from: string | undefined;
  /** Milliseconds. */
  readonly timeout: number | undefined;
}

/** Reads `--block`, `--from` and `--timeout`. */
export function parseReadTarget({
  block,
  from,
  timeout,
}: ReadArguments): ReadTarget {
  return {
    blockTag: parseBlock(block),
    from: from === undefined ? undefined : parseAddress(from, "--from"),
    timeout: parseTimeout(timeout),
  };
}

/** Reads `--timeout` as milliseconds. */
export function parseTimeout(text: string | undefined): number | undefined {
  return text === undefined
    ? undefined
    : parseSeconds(
        text,
        "--timeout",
        0.001,
        Math.floor(MAX_DURATION_MS / 1_000),
      );
}

/** Reads a number of seconds as milliseconds. */
export function parseSeconds(
  text: string,
  where: string,
  least: number,
  most: number,
): number {
  const seconds = /^[0-9]{1,9}(?:\.[0-9]+)?$/u.test(text) ? Number(text) : NaN;
  if (seconds >= least && seconds <= most) {
    return seconds * 1_000;
  }
  throw invalidArgument(
    where,
    `a number of seconds from ${least} to ${most} is needed, got ${describeInput(text)}`,
  );
}

/** Reads a whole number as a person types it. */
export function parseInteger(text: string, where: string): bigint {
  return parseUint256(readInteger(text) ?? text, where);
}

/** Reads `--block`, or another option that names one. */
export function parseBlock(text = "latest", where = "--block"): BlockTag {
  const value = readInteger(text) ?? text;
  parseBlockTag(value, where);
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the line above has refused everything that is not a block tag
  return value as BlockTag;
}

/** Reads an option that names a block of the chain's history. */
export function parsePastBlock(
  text: string | undefined,
  where: string,
): BlockTag {
  const tag = parseBlock(text, where);
  requireFixedBlock(tag, where);
  return tag;
}

/** Reads one of the words that an option takes. */
export function parseWord<Word extends string>(
  text: string,
  words: readonly Word[],
  where: string,
): Word {
  const found = words.find((word) => word === text);
  if (found === undefined) {
    throw notOneOf(where, words, text);
  }
  return found;
}

/**
 * Reads the value of an operation's argument by the argument's unit: tokens,
 * percent, a time, or (with `raw`) the integer of the wire.
 */
export function parseArgument(
  field: Field,
  text: string,
  { raw, tokenDecimals, network }: ParseContext,
): ParsedArgument {
  const { unit } = field;
  const where = argumentName(field);
  switch (unit) {
    case "contractType":
      return parseWord(text, enumWords.contractType, where);
    case "timestamp":
      return parseFutureTime(text, where, raw);
    case "percent":
    case "token": {
      if (raw) {
        return parseInteger(text, where);
      }
      const decimals =
        unit === "percent" ? units.percent.decimals : tokenDecimals;
      if (decimals === undefined) {
        throw vaultError("VAULT_TOKEN_DECIMALS_NOT_CONFIGURED", {
          where,
          network,
        });
      }
      return parseDecimal(text, where, decimals);
    }
    default:
      return parseInteger(text, where);
  }
}

/** Arguments as a call takes them: several of them as one object. */
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

/** How a person writes an argument: `--max-volume`, or a positional's name. */
export function argumentName({ option, name, unit }: Field): string {
  const flag = toFlag(option ?? name);
  return unit === "none" ? `<${flag.slice(2)}>` : flag;
}

/** An error as a sentence of the command line. */
export function messageForCommandLine(
  error: VaultError,
  instance?: string,
): string {
  const { shortMessage, fix } = textsForCommandLine(error, {
    "--instance": instanceFlag(instance),
  });
  return `${shortMessage} ${fix}`;
}

/** Repeats `--instance` in a command that is to be typed next. */
export function instanceFlag(instance: string | undefined): string {
  return instance === undefined ? "" : ` --instance ${instance}`;
}

/** A value as the documents of tasks have it. */
export function toDocument(value: unknown): unknown {
  return toJsonValue(value, messageForCommandLine);
}

/** An option as it is typed: `--first-id` for `firstId`. */
export function toFlag(option: string): string {
  return `--${option.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * Reads a decimal number exactly: more digits than the scale holds are refused,
 * never rounded.
 */
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

/**
 * Reads a time that has to be ahead of the chain's clock, once that is known.
 */
export function parseFutureTime(
  text: string,
  where: string,
  raw: boolean,
  words: readonly string[] = [],
): (chainTime: number) => bigint {
  const read = (chainTime: number): bigint =>
    raw ? parseInteger(text, where) : parseTime(text, where, chainTime, words);
  // What is no time at all is refused before anything is asked of the chain.
  read(0);
  return (chainTime) => {
    const time = read(chainTime);
    requireFuture(time, where, chainTime);
    return time;
  };
}

/** Most ids that one list may name. */
const MAX_IDS = 10_000n;

/** Reads a list of order ids and ranges, as in `1,2,5-9`. */
export function parseOrderIds(
  text: string,
  where = "--orders",
): readonly bigint[] {
  const ids = new Set<bigint>();
  for (const part of text.split(",")) {
    const [firstText = "", lastText = firstText, ...more] = part
      .split("-")
      .map((id) => id.trim());
    const first = parseInteger(firstText, where);
    const last = parseInteger(lastText, where);
    if (more.length > 0 || last < first) {
      throw invalidArgument(
        where,
        `${describeInput(part)} is not a range, as in 5-9`,
      );
    }
    if (last - first >= MAX_IDS) {
      throw invalidArgument(
        where,
        `at most ${groupDigits(MAX_IDS.toString())} orders can be named`,
      );
    }
    for (let id = first; id <= last; id += 1n) {
      ids.add(id);
    }
  }
  return [...ids];
}

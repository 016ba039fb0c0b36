import { contractRoleNames } from "../../src/protocol/contracts.js";
import type * as parsers from "../parsers.js";
import type { Parse, Time } from "../parsers.js";

// Every run of Hardhat loads this file and the options of all tasks; only a task
// that runs loads parsers.ts, so each parser is chosen from it at that time.

/** A function of parsers.ts, and the form of its texts. */
export interface Parser<Value> {
  /** Follows the purpose in the help. */
  readonly form: string;
  readonly from: (all: typeof parsers) => Parse<Value>;
}

/** An option, a flag, or an argument that is typed without a flag. */
export interface Option<Value> {
  readonly kind: "flag" | "option" | "positional" | "variadic";
  /** The help text: purpose, form of the values, default. */
  readonly help: string;
  readonly isRequired: boolean;
  /** Makes the value of what Hardhat passes. */
  readonly read: (given: unknown, parse: ParseBy) => Value;
}

/** Parses a text, under the option's name and with the network's scales. */
export type ParseBy = <Value>(parser: Parser<Value>, text: unknown) => Value;

/** By name, in camel case. */
export type Options = Readonly<Record<string, Option<unknown>>>;

export type ValuesOf<Described> = {
  readonly [Name in keyof Described]: Described[Name] extends Option<
    infer Value
  >
    ? Value
    : never;
};

export function flag(purpose: string): Option<boolean> {
  return {
    kind: "flag",
    help: purpose,
    isRequired: false,
    read: (given) => given === true,
  };
}

/** @param absence What stands for a missing value, for the help. */
export function option<Value>(
  by: Parser<Value>,
  purpose: string,
  { default: absence = "" }: { readonly default?: string } = {},
): Option<Value | undefined> {
  return {
    kind: "option",
    help: `${purpose}${by.form}${absence === "" ? "" : ` (default: ${absence})`}`,
    isRequired: false,
    read: (given, parse) =>
      given === undefined ? undefined : parse(by, given),
  };
}

export function requiredOption<Value>(
  by: Parser<Value>,
  purpose: string,
): Option<Value> {
  return { ...positional(by, purpose), kind: "option" };
}

export function positional<Value>(
  by: Parser<Value>,
  purpose: string,
): Option<Value> {
  return {
    kind: "positional",
    help: `${purpose}${by.form}`,
    isRequired: true,
    read: (given, parse) => parse(by, given),
  };
}

export function variadic<Value>(
  by: Parser<Value>,
  purpose: string,
  { isRequired }: { readonly isRequired: boolean },
): Option<readonly Value[]> {
  return {
    kind: "variadic",
    help: `${purpose}${by.form}`,
    isRequired,
    read: (given, parse) =>
      Array.isArray(given) ? given.map((text) => parse(by, text)) : [],
  };
}

function parser<Value>(from: Parser<Value>["from"], form = ""): Parser<Value> {
  return { form, from };
}

export const text = parser((all) => all.parseText);
export const file = parser((all) => all.parseFile);
/** A scenario of the mocks. */
export const scenario = parser((all) => all.parseScenario);
export const address = parser((all) => all.parseOneAddress);
/** An address, or `anyone`. */
export const settlerOfGuard = parser((all) => all.parseSettler);
export const roles = parser(
  (all) => all.parseRoles,
  `: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
);
export const block = parser(
  (all) => all.parseBlock,
  ": a number, latest, safe, finalized, earliest or pending",
);
/** A block that several calls can be pinned to, unlike `pending`. */
export const fixedBlock = parser(
  (all) => all.parseFixedBlock,
  ": a number, latest, safe, finalized or earliest",
);
export const orders = parser(
  (all) => all.parseOrders,
  ": 1,2,5-9, or a range of any length: 0-499, or 500- to the last",
);
export const integer = parser((all) => all.parseInteger);
/** Wei per gas. */
export const gasPrice = parser(
  (all) => all.parseGasPrice,
  ", in wei or gwei: 50gwei",
);
export const tokenList = parser(
  (all) => all.parseTokens,
  ", as 0x…,0x… or none",
);
/** Unscaled, typed in tokens. */
export const amount = parser((all) => all.parseAmount, ", in tokens");
/** Unscaled, typed in percent. */
export const percent = parser((all) => all.parsePercent, ", in percent");

/** @param most The greatest number of orders. */
export function ids(most: number): Parser<readonly bigint[]> {
  return parser((all) => all.parseIds(most), ": 1,2,5-9");
}

/** Milliseconds, typed in seconds. */
export function seconds(least = 0.001): Parser<number> {
  return parser((all) => all.parseSeconds(least));
}

/** A time, or one of the words. */
export function timeOr<const Word extends string>(
  ...words: readonly Word[]
): Parser<Time | Word> {
  return parser(
    (all) => all.parseFuture(words),
    `: ${[...words, "ISO date"].join(", ")}, +7d (from the chain's clock) or Unix seconds`,
  );
}

export const time = timeOr<never>();

export function oneOf<const Word extends string>(
  words: readonly Word[],
): Parser<Word> {
  return parser(
    (all) => all.parseWord(words),
    // The error has the whole list, which may be too long for the help.
    words.length > 4 ? "" : `: ${words.join(" or ")}`,
  );
}

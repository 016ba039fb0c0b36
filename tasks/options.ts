import type { ContractAddresses } from "../src/client/addresses.js";
import type { BlockTag } from "../src/client/inputs.js";
import { contractRoleNames } from "../src/protocol/contracts.js";
import type * as parsers from "./parsers.js";
import type { OrderSelection, Parse, Time } from "./parsers.js";

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

/** Parses a text; knows the option's name and the network's scales. */
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

/** How an option behaves without a value. */
interface Absence {
  /** For the help. */
  readonly default?: string;
  readonly required?: boolean;
}

export function flag(purpose: string): Option<boolean> {
  return {
    kind: "flag",
    help: purpose,
    isRequired: false,
    read: (given) => given === true,
  };
}

export function option<Value>(
  parser: Parser<Value>,
  purpose: string,
  absence: Absence & { readonly required: true },
): Option<Value>;
export function option<Value>(
  parser: Parser<Value>,
  purpose: string,
  absence?: Absence,
): Option<Value | undefined>;
export function option<Value>(
  parser: Parser<Value>,
  purpose: string,
  absence: Absence = {},
): Option<Value | undefined> {
  const { default: fallback, required = false } = absence;
  const ending = fallback === undefined ? "" : ` (default: ${fallback})`;
  return {
    kind: "option",
    help: `${purpose}${parser.form}${ending}`,
    isRequired: required,
    read: (given, parse) =>
      given === undefined ? undefined : parse(parser, given),
  };
}

export function positional<Value>(
  parser: Parser<Value>,
  purpose: string,
): Option<Value> {
  return {
    kind: "positional",
    help: `${purpose}${parser.form}`,
    isRequired: true,
    read: (given, parse) => parse(parser, given),
  };
}

export function variadic<Value>(
  parser: Parser<Value>,
  purpose: string,
  { required: isRequired = false }: Pick<Absence, "required"> = {},
): Option<readonly Value[]> {
  return {
    kind: "variadic",
    help: `${purpose}${parser.form}`,
    isRequired,
    read: (given, parse) =>
      Array.isArray(given) ? given.map((text) => parse(parser, text)) : [],
  };
}

export const text: Parser<string> = {
  form: "",
  from: (all) => all.parseText,
};

export const file: Parser<string> = {
  form: "",
  from: (all) => all.parseFile,
};

export const address: Parser<string> = {
  form: "",
  from: (all) => all.parseOneAddress,
};

export const addresses: Parser<readonly string[]> = {
  form: ": 0x…[,0x…]",
  from: (all) => all.parseAddresses,
};

export const roles: Parser<ContractAddresses> = {
  form: `: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
  from: (all) => all.parseRoles,
};

export const block: Parser<BlockTag> = {
  form: ": a number, latest, safe, finalized, earliest or pending",
  from: (all) => all.parseBlock,
};

/** A block that several calls can be pinned to, unlike `pending`. */
export const fixedBlock: Parser<Exclude<BlockTag, "pending">> = {
  form: ": a number, latest, safe, finalized or earliest",
  from: (all) => all.parseFixedBlock,
};

/** @param most The greatest number of orders. */
export function ids(most: number): Parser<readonly bigint[]> {
  return { form: ": 1,2,5-9", from: (all) => all.parseIds(most) };
}

export const orders: Parser<OrderSelection> = {
  form: ": 1,2,5-9, or a range of any length: 0-499, or 500- to the last",
  from: (all) => all.parseOrders,
};

/** A time, or one of the words. */
export function timeOr<const Word extends string>(
  ...words: readonly Word[]
): Parser<Time | Word> {
  return {
    form: `: ${[...words, "ISO date"].join(", ")}, +7d (from the chain's clock) or Unix seconds`,
    from: (all) => all.parseFuture(words),
  };
}

export const time: Parser<Time> = timeOr<never>();

/** Milliseconds, typed in seconds. */
export function seconds(least = 0.001): Parser<number> {
  return { form: "", from: (all) => all.parseSeconds(least) };
}

export const integer: Parser<bigint> = {
  form: "",
  from: (all) => all.parseInteger,
};

/** Wei per gas. */
export const gasPrice: Parser<bigint> = {
  form: ", in wei or gwei: 50gwei",
  from: (all) => all.parseGasPrice,
};

/** Unscaled, typed in tokens. */
export const amount: Parser<bigint> = {
  form: ", in tokens",
  from: (all) => all.parseAmount,
};

/** Unscaled, typed in percent. */
export const percent: Parser<bigint> = {
  form: ", in percent",
  from: (all) => all.parsePercent,
};

export function oneOf<const Word extends string>(
  words: readonly Word[],
): Parser<Word> {
  return {
    // The error has the whole list, which may be too long for the help.
    form: words.length > 4 ? "" : `: ${words.join(" or ")}`,
    from: (all) => all.parseWord(words),
  };
}

/** A word, or what another parser takes. */
export function wordOr<const Word extends string, Value>(
  word: Word,
  { form, from }: Parser<Value>,
): Parser<Value | Word> {
  return { form, from: (all) => all.parseWordOr(word, from(all)) };
}

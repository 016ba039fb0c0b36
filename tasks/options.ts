import { contractRoleNames } from "../src/protocol/operations.js";
import type { parsers } from "./parsers.js";

// How an option is described: its help, and the parser of its text. Every run of Hardhat
// loads this file; only a task that runs loads parsers.ts, and what that needs.

type Parsers = typeof parsers;

/** How a text becomes a value: by a parser of parsers.ts, or as one of these words. */
export type Form = keyof Parsers | readonly string[];

type Parsed<By> = By extends keyof Parsers
  ? ReturnType<Parsers[By]>
  : By extends ReadonlyArray<infer Word>
    ? Word
    : never;

type Kind = "flag" | "option" | "positional" | "variadic";

/** An option, a flag, or an argument that is typed without a flag. */
export interface Option<
  By extends Form | undefined = Form | undefined,
  Is extends Kind = Kind,
  Required extends boolean = boolean,
> {
  readonly kind: Is;
  /** The help text: purpose, form of the values, default. */
  readonly help: string;
  readonly isRequired: Required;
  /** Undefined for a flag. */
  readonly by: By;
}

/** By name, in camel case. */
export type Options = Readonly<Record<string, Option>>;

type ValueOf<Given> =
  Given extends Option<infer By, infer Is, infer Required>
    ? {
        readonly flag: boolean;
        readonly option: Required extends true
          ? Parsed<By>
          : Parsed<By> | undefined;
        readonly positional: Parsed<By>;
        readonly variadic: ReadonlyArray<Parsed<By>>;
      }[Is]
    : never;

export type ValuesOf<Described> = {
  readonly [Name in keyof Described]: ValueOf<Described[Name]>;
};

const MOMENT = "ISO date, +7d (from the chain's clock) or Unix seconds";

/** What follows the purpose of an option in the help, if the purpose does not say it. */
const forms: Partial<Readonly<Record<keyof Parsers, string>>> = {
  amount: ", in tokens",
  block: ": a number, latest, safe, finalized, earliest or pending",
  fixedBlock: ": a number, latest, safe, finalized or earliest",
  futureTime: `: ${MOMENT}`,
  gasPrice: ", in wei or gwei: 50gwei",
  ids: ": 1,2,5-9",
  orders: ": 1,2,5-9, or a range of any length: 0-499, or 500- to the last",
  percent: ", in percent",
  roles: `: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
  // Their names, since the start loads no mocks.
  scenario:
    ": open-round, expired-round, settled-round, full-round, empty-vault, no-liquidity, many-orders or as-deployed",
  settlementTime: `: end, ${MOMENT}`,
  tokens: ", as 0x…,0x… or none",
  watchEnd: `: settled, expired, ${MOMENT}`,
};

export function flag(help: string): Option<undefined, "flag", false> {
  return { kind: "flag", help, isRequired: false, by: undefined };
}

function valued<Is extends Kind, Required extends boolean>(
  kind: Is,
  isRequired: Required,
) {
  /** @param absence What stands for a missing value, for the help. */
  return <const By extends Form>(
    by: By,
    purpose: string,
    absence?: string,
  ): Option<By, Is, Required> => {
    const end = absence === undefined ? "" : ` (default: ${absence})`;
    return { kind, isRequired, by, help: purpose + describeForm(by) + end };
  };
}

function describeForm(by: Form): string {
  return typeof by === "string" ? (forms[by] ?? "") : `: ${by.join(" or ")}`;
}

export const option = valued("option", false);
export const requiredOption = valued("option", true);
export const positional = valued("positional", true);
export const variadic = valued("variadic", false);
export const requiredVariadic = valued("variadic", true);

import { operationNames } from "../../src/protocol/queries.js";
import {
  address,
  block,
  file,
  fixedBlock,
  flag,
  oneOf,
  option,
  positional,
  roles,
  seconds,
  text,
} from "./options.js";
import type { Options, ValuesOf } from "./options.js";

export const timeout = option(
  seconds(),
  "Fail after this many seconds, retries included",
  { default: "300 for each request" },
);

/** Of tasks that wait until their transactions are mined. */
export const timeoutOfTransactions: typeof timeout = option(
  seconds(),
  "Fail after this many seconds",
  { default: "120 until a transaction is mined" },
);

/** The sender of calls. */
export const from = option(address, "Sender of the calls", {
  default: "networks.<name>.from, else the zero address",
});

/** The account that settles. */
export const settler = (purpose: string): typeof from =>
  option(address, purpose, {
    default: "networks.<name>.from, else the network's first account",
  });

export const raw = flag("Show unscaled integers");

/** Of tasks that use contracts. */
export const at = option(roles, "Contract addresses to use", {
  default: "as configured",
});

/** Of every task. */
const common = {
  json: flag("Print one JSON document on stdout"),
  instance: option(
    text,
    "Instance to use, one of networks.<name>.vault.instances",
  ),
} as const;

/** Values that every task has, and those of tasks that use contracts or read. */
export type CommonValues = ValuesOf<typeof common> &
  Partial<ValuesOf<Pick<typeof ofReads, "at" | "timeout">>>;

/** Description and options of a task, as the help shows them. */
export interface Task<Described extends Options = Options> {
  readonly description: string;
  readonly options: Described;
  /** Of each row, one option may be given. */
  readonly alternatives?: ReadonlyArray<readonly string[]>;
}

export type TaskValues<Described extends Task> = ValuesOf<Described["options"]>;

export function describeTask<const Own extends Options>(
  description: string,
  own: Own,
  alternatives: ReadonlyArray<
    ReadonlyArray<string & (keyof Own | keyof typeof common)>
  > = [],
): Task<typeof common & Own> {
  return { description, options: { ...common, ...own }, alternatives };
}

/** Of tasks that read with one call. */
export const ofReads = {
  at,
  raw,
  block: option(block, "Block to read at", { default: "latest" }),
  timeout,
  from,
} as const;

/** Of tasks that read with several calls. */
export const ofManyReads = {
  ...ofReads,
  block: option(fixedBlock, "Block to read at", { default: "latest" }),
} as const;

export const ofListings = {
  format: option(
    oneOf(["ndjson", "csv"]),
    "Write plain lines, without network and block; csv is for spreadsheets",
  ),
  scaled: flag("Scale the values of CSV by the known or configured decimals"),
  out: option(
    file,
    "File to write: .csv, .ndjson, .json, or else the table as text",
    { default: "stdout" },
  ),
} as const;

export const operation = positional(
  oneOf(operationNames),
  "Operation, for example getLatestRoundInfo",
);

export const pools = oneOf(["public", "private"]);

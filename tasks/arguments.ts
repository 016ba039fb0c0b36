import type { ContractAddresses } from "../src/client/addresses.js";
import type { BlockTag } from "../src/client/inputs.js";
import { assertInvariant } from "../src/errors.js";
import { contractRoleNames } from "../src/protocol/contracts.js";
import { enumWords } from "../src/protocol/enums.js";
import { keysOf } from "../src/protocol/keys-of.js";
import type { Field } from "../src/protocol/operations.js";
import { operationNames } from "../src/protocol/queries.js";

// Loaded with the tasks' definitions, by every run of Hardhat. The kinds are
// parsed in parse-arguments.ts, which is loaded with the first task that runs.

/** A time, which may count from the chain's clock. */
export interface Time {
  /** As it was typed. */
  readonly text: string;
  /** @throws VaultError VAULT_TIME_IN_PAST */
  readonly after: (chainTime: number) => bigint;
}

export function isTime(value: unknown): value is Time {
  return typeof value === "object" && value !== null && "after" in value;
}

/** Orders by id; without an end, up to the last order. */
export type OrderSelection =
  | { readonly ids: readonly bigint[] }
  | { readonly firstId: bigint; readonly lastId: bigint | undefined };

/** The value of each kind of argument. */
interface Values {
  readonly flag: boolean;
  readonly text: string;
  readonly file: string;
  readonly address: string;
  readonly addresses: readonly string[];
  /** `--at`. */
  readonly roles: ContractAddresses;
  readonly block: BlockTag;
  /** A block that several calls can be pinned to. */
  readonly fixedBlock: Exclude<BlockTag, "pending">;
  readonly ids: readonly bigint[];
  readonly orders: OrderSelection;
  readonly time: Time;
  /** Milliseconds. */
  readonly seconds: number;
  readonly integer: bigint;
  /** Unscaled, as is `percent`. */
  readonly amount: bigint;
  readonly percent: bigint;
  readonly choice: never;
}

/** A kind with the argument's purpose; the kind adds the form of its values. */
export type Argument = {
  readonly [Kind in keyof Values]: Readonly<Record<Kind, string>>;
}[keyof Values] & {
  /** The only values, or those that are no value of the kind. */
  readonly words?: readonly string[];
  /** Of `ids`: how many can be named; of `seconds`: the fewest. */
  readonly limit?: number;
  /** Typed without a flag: one, or as many as there are. */
  readonly position?: "one" | "many";
  readonly required?: true;
};

export type Arguments = Readonly<Record<string, Argument>>;

type ValueOf<Described> =
  | Values[keyof Described & keyof Values]
  | (Described extends { readonly words: ReadonlyArray<infer Word> }
      ? Word
      : never);

/** The values that arguments, described by name, are run with. */
export type ValuesOf<Described> = {
  readonly [Name in keyof Described]: Described[Name] extends {
    readonly position: "many";
  }
    ? ReadonlyArray<ValueOf<Described[Name]>>
    : Described[Name] extends
          { readonly flag: string } | { readonly required: true }
      ? ValueOf<Described[Name]>
      : ValueOf<Described[Name]> | undefined;
};

/** The forms of values, as `--help` has them; `time` may have words before it. */
const forms: Readonly<Record<keyof Values, string>> = {
  flag: "",
  text: "",
  file: "",
  address: "",
  addresses: ": 0x…[,0x…]",
  roles: `: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
  block: ": a number, latest, safe, finalized, earliest or pending",
  fixedBlock: ": a number, latest, safe, finalized or earliest",
  ids: ": 1,2,5-9",
  orders: ": 1,2,5-9, or a range of any length: 0-499, or 500- to the last",
  time: "ISO date, +7d (from the chain's clock) or Unix seconds",
  seconds: "",
  integer: "",
  amount: ", in tokens",
  percent: ", in percent",
  choice: "",
};

/** The kind of an argument, and its purpose. */
export function kindOf(argument: Argument): {
  readonly kind: keyof Values;
  readonly text: string;
} {
  const texts: { readonly [Kind in keyof Values]?: string } = argument;
  const kind = keysOf(forms).find((known) => texts[known] !== undefined);
  assertInvariant(kind !== undefined, "an argument has no kind");
  return { kind, text: texts[kind] ?? "" };
}

/** The purpose of an argument and the form of its values. */
export function describeArgument(argument: Argument): string {
  const { kind, text } = kindOf(argument);
  const { words = [] } = argument;
  const form =
    kind === "choice"
      ? // A list that is too long for a line of help stands in the error.
        words.length > 4
        ? ""
        : `: ${words.join(" or ")}`
      : kind === "time"
        ? `: ${[...words, forms.time].join(", ")}`
        : forms[kind];
  return `${text}${form}`;
}

const timeout = {
  seconds: "Fail after this many seconds, retries included",
} as const;
const from = { address: "Sender of the calls" } as const;
const rawShown = { flag: "Show unscaled integers" } as const;

const common = {
  json: { flag: "Print one JSON document on stdout" },
  at: { roles: "Addresses to use" },
  instance: { text: "Instance to use, one of networks.<name>.vault.instances" },
} as const;

const ofReads = {
  ...common,
  raw: { flag: "Show and take unscaled integers" },
  block: { block: "Read at this block" },
  timeout,
  from,
} as const;

const ofManyReads = {
  ...ofReads,
  block: { fixedBlock: "Read at this block" },
} as const;

const ofListings = {
  format: {
    choice: "Stream lines without an envelope",
    words: ["ndjson", "csv"],
  },
  out: { file: "File to write; .csv, .ndjson and .json choose the form" },
} as const;

const operation = {
  choice: "Operation, as in getLatestRoundInfo",
  words: operationNames,
  position: "one",
  required: true,
} as const;
const pool = {
  choice: "Pool, for getLPAmountInfo alone",
  words: ["public", "private"],
} as const;

/** The arguments of each task, in the order in which they are listed. */
export const taskArguments = {
  status: {
    ...ofReads,
    all: { flag: "Show the network's contracts, then each instance" },
  },
  orders: {
    ...ofManyReads,
    ids: { orders: "Orders to list, all by default" },
    state: { choice: "Only orders in this state", words: enumWords.orderState },
    holder: { address: "Only orders of this holder" },
    ...ofListings,
    skipEmpty: { flag: "Leave out orders whose every value is zero" },
  },
  rounds: {
    ...ofManyReads,
    fromBlock: { fixedBlock: "First block to read, 0 by default" },
    toBlock: { fixedBlock: "Last block to read, latest by default" },
    ...ofListings,
  },
  report: {
    ...ofManyReads,
    out: { file: "File to write (default: vault-report.html)" },
    ids: { ids: "Show these orders too" },
    rounds: { flag: "Show every round that the vault had" },
    simulate: { flag: "Simulate a settlement, and show its effects" },
  },
  settle: {
    ...common,
    yes: { flag: "Do not ask; finish an interrupted settlement first" },
    ifExpired: { flag: "Do nothing, with exit code 0, before the round's end" },
    from: { address: "Account of the network that settles" },
    confirmations: { integer: "Blocks to wait for (default: 1)" },
    timeout: { seconds: "Stop waiting after this many seconds (default: 300)" },
    resume: { flag: "Find out what an interrupted settlement did" },
    assert: { flag: "Send nothing; exit with 1 if a round is to be settled" },
    calldata: { flag: "Send nothing; print the unsigned transaction" },
    safe: { flag: "With --calldata: print it for Safe's Transaction Builder" },
  },
  simulate: {
    ...common,
    as: { address: "Account that settles; no key is needed" },
    atTime: {
      time: "Time of the settlement; end is the round's",
      words: ["end"],
    },
    ids: { ids: "Orders to watch, at most 400", limit: 400 },
    tokens: { addresses: "ERC-20 tokens whose balances to watch" },
    block: { fixedBlock: "Block to start from, the newest by default" },
    timeout,
    fork: { flag: "Simulate on a fork in this process" },
    hardfork: { text: "Fork, by the rules of this hardfork, as in prague" },
  },
  "deploy-mocks": {
    ...common,
    scenario: { text: "State of the mocks (default: open-round)" },
    yes: { flag: "Deploy also where it costs money" },
  },
  "mock next-round": {
    ...common,
    terms: {
      text: "Terms that differ, unscaled: strikePrice=66000e18 endTime=+7d",
      position: "many",
    },
  },
  "mock set": {
    ...common,
    changes: {
      text: "Unscaled values by path: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
      position: "many",
      required: true,
    },
  },
  "mock fail": {
    ...common,
    operation,
    reason: {
      text: "Why: a text, or revert data as 0x hex",
      position: "one",
      required: true,
    },
    pool,
  },
  "mock succeed": { ...common, operation, pool },
  capture: {
    ...common,
    out: { file: "File to write, as in fixture.json", required: true },
    ids: { ids: "Record these orders too" },
    block: { fixedBlock: "Record this block" },
    timeout,
  },
  request: {
    ...common,
    operation,
    args: {
      text: "The operation's arguments, as on the wire",
      position: "many",
    },
    pool,
    from,
    curl: { flag: "Print a curl command, with the URL in $RPC_URL" },
  },
  watch: {
    ...common,
    json: { flag: "Print a JSON document a line, for each change" },
    raw: rawShown,
    until: {
      time: "Event or time to end at, with exit code 0",
      words: ["settled", "expired"],
    },
    interval: { seconds: "Seconds between two looks (default: 5)", limit: 0.1 },
  },
  doctor: {
    ...common,
    timeout,
    strict: { flag: "Exit with 1 on warnings, too" },
  },
  decode: {
    ...common,
    hex: {
      text: "Call data, returned data or revert data, 0x hex",
      position: "one",
      required: true,
    },
    raw: rawShown,
  },
} as const satisfies Readonly<Record<string, Arguments>>;

export type TaskName = keyof typeof taskArguments;

/** What a task is run with. */
export type ArgumentsOf<Name extends TaskName> = ValuesOf<
  (typeof taskArguments)[Name]
>;

/** What every task is run with, and those that read have. */
export type CommonValues = ValuesOf<typeof common> &
  Partial<Pick<ValuesOf<typeof ofReads>, "timeout">>;

/** The argument for an operation's input, by its unit. */
function describeInput({ unit, label }: Field): Argument {
  switch (unit) {
    case "contractType":
      // All of them are read where none is named.
      return { choice: label, words: enumWords.contractType };
    case "timestamp":
      return { time: label, required: true };
    case "token":
      return { amount: label, required: true };
    case "percent":
      return { percent: label, required: true };
    case "none":
      return { integer: label, position: "one", required: true };
    default:
      return { integer: label, required: true };
  }
}

/** The arguments of the task that reads an operation with these inputs. */
export function readArguments(
  inputs: readonly Field[],
): typeof ofReads & Arguments {
  return {
    ...ofReads,
    ...Object.fromEntries(
      inputs.map((field): [string, Argument] => {
        const name = field.option ?? field.name;
        assertInvariant(
          !Object.hasOwn(ofReads, name),
          `an operation's input is named like the option ${name}`,
        );
        return [name, describeInput(field)];
      }),
    ),
  };
}

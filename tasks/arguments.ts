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

/** An argument as `--help` explains it. */
export function describeArgument(argument: Argument): string {
  const { kind, text } = kindOf(argument);
  const { words = [], required } = argument;
  const form =
    kind === "choice"
      ? // A list that is too long for a line of help stands in the error.
        words.length > 4
        ? ""
        : `: ${words.join(" or ")}`
      : kind === "time"
        ? `: ${[...words, forms.time].join(", ")}`
        : forms[kind];
  // As Hardhat's own `(default: …)`, since it knows of no required option.
  return `${text}${form}${required === true ? " (required)" : ""}`;
}

const timeout = {
  seconds: "Give up after so many seconds, with whatever is asked again",
} as const;
const from = { address: "Send the call from this address" } as const;
const rawShown = { flag: "Show integers as on the wire, unscaled" } as const;

const common = {
  json: { flag: "Print one JSON document on stdout and nothing else" },
  at: { roles: "Use these addresses" },
  instance: {
    text: "Use this one of the sets of contracts that the network's settings name",
  },
} as const;

const ofReads = {
  ...common,
  raw: { flag: "Show and take integers as on the wire, unscaled" },
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
    choice: "Stream without an envelope, an object or a row a line",
    words: ["ndjson", "csv"],
  },
  out: {
    file: "Write to this file, which appears whole or not at all; .csv, .ndjson and .json choose the form",
  },
} as const;

const operation = {
  choice: "Name of the operation, as in getLatestRoundInfo",
  words: operationNames,
  position: "one",
  required: true,
} as const;
const pool = {
  choice: "The one pool that is meant, for getLPAmountInfo alone",
  words: ["public", "private"],
} as const;

/** The arguments of each task, in the order in which they are listed. */
export const taskArguments = {
  status: {
    ...ofReads,
    all: {
      flag: "Show the network's own contracts, then each of its instances",
    },
  },
  orders: {
    ...ofManyReads,
    ids: { orders: "These orders; all there are unless given" },
    state: { choice: "Only orders in this state", words: enumWords.orderState },
    holder: { address: "Only orders of this address" },
    ...ofListings,
    skipEmpty: { flag: "Leave out orders whose every value is zero" },
  },
  rounds: {
    ...ofManyReads,
    fromBlock: {
      fixedBlock: "First block to look at, the chain's first unless given",
    },
    toBlock: { fixedBlock: "Last block to look at, the latest unless given" },
    ...ofListings,
  },
  report: {
    ...ofManyReads,
    out: { file: "File to write; vault-report.html unless given" },
    ids: { ids: "Show these orders too" },
    rounds: { flag: "Show every round that the vault ever had" },
    simulate: { flag: "Simulate a settlement, and show what it would do" },
  },
  settle: {
    ...common,
    yes: {
      flag: "Settle without asking; finish an interrupted settlement before that",
    },
    ifExpired: {
      flag: "Settle only a round that has ended; before that do nothing, with exit code 0",
    },
    from: { address: "Settle with this one of the network's accounts" },
    confirmations: {
      integer: "Wait until so many blocks hold the transaction; 1 unless given",
    },
    timeout: {
      seconds: "Wait so many seconds for that, after sending; 300 unless given",
    },
    resume: { flag: "Find out, or finish, what an interrupted settlement did" },
    assert: { flag: "Send nothing; exit with 1 if there is a round to settle" },
    calldata: { flag: "Send nothing; print the unsigned transaction as JSON" },
    safe: {
      flag: "With --calldata: as a file that Safe's Transaction Builder imports",
    },
  },
  simulate: {
    ...common,
    as: { address: "Settle as this account; any one, no key is needed" },
    atTime: {
      time: "Settle at this time, end being that of the round",
      words: ["end"],
    },
    ids: { ids: "Show what changes in these orders, at most 400", limit: 400 },
    tokens: {
      addresses: "Show what changes in balances of these ERC-20 tokens",
    },
    block: { fixedBlock: "Start from this block, the newest unless given" },
    timeout,
    fork: { flag: "Simulate on a fork in this process, not in one request" },
    hardfork: {
      text: "Fork, and execute by the rules of this hardfork, as in prague",
    },
  },
  "deploy-mocks": {
    ...common,
    scenario: { text: "Canned state of the mocks; open-round unless given" },
    yes: { flag: "Deploy also to a network where it costs money" },
  },
  "mock next-round": {
    ...common,
    terms: {
      text: "What differs from the latest round, as on the wire: strikePrice=66000e18 endTime=+7d",
      position: "many",
    },
  },
  "mock set": {
    ...common,
    changes: {
      text: "Values by path, as on the wire: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
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
    curl: { flag: "Print a curl command; it takes the URL from $RPC_URL" },
  },
  watch: {
    ...common,
    json: { flag: "Print one JSON document a line, for each change" },
    raw: rawShown,
    until: {
      time: "End with exit code 0 once the round is that, or at a time",
      words: ["settled", "expired"],
    },
    interval: {
      seconds: "Look every so many seconds; 5 unless given",
      limit: 0.1,
    },
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

import { assertInvariant } from "../src/errors.js";
import { contractRoleNames } from "../src/protocol/contracts.js";
import type { Field } from "../src/protocol/operations.js";
import type { Unit } from "../src/protocol/units.js";

// Loaded with the tasks' definitions, by every run of Hardhat.

/** What an argument is, and how it is typed: a text is what an option takes. */
export type Argument =
  | string
  | { readonly flag: string }
  | { readonly positional: string }
  | { readonly variadic: string };

/** The values that arguments, described by name, are run with. */
type ValuesOf<Described> = {
  [Name in keyof Described]: Described[Name] extends string
    ? string | undefined
    : Described[Name] extends { readonly flag: string }
      ? boolean
      : Described[Name] extends { readonly variadic: string }
        ? string[]
        : string;
};

/** As Hardhat's own `(default: …)`, since it knows of no required option. */
function required(description: string): string {
  return `${description} (required)`;
}

const timeout = "Give up after so many seconds, with whatever is asked again";
const from = "Send the call from this address";
const as = "Settle as this account; any one, no key is needed";
const rawShown = { flag: "Show integers as on the wire, unscaled" };

const common = {
  json: { flag: "Print one JSON document on stdout and nothing else" },
  at: `Use these addresses: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
  instance:
    "Use this one of the sets of contracts that the network's settings name",
};

const ofReads = {
  ...common,
  raw: { flag: "Show and take integers as on the wire, unscaled" },
  block:
    "Read at this block: a number, latest, safe, finalized, earliest or pending",
  timeout,
  from,
};

const ofListings = {
  format: "Stream without an envelope: ndjson (an object a line) or csv",
  out: "Write to this file, which appears whole or not at all; .csv, .ndjson and .json choose the form",
};

const scripted = {
  operation: {
    positional: required("Name of the operation, as in settleAll"),
  },
};
const scriptedPool = {
  pool: "The one pool that is meant, for getLPAmountInfo: public or private",
};

/** The arguments of each task, in the order in which they are listed. */
export const taskArguments = {
  status: {
    ...ofReads,
    all: {
      flag: "Show the network's own contracts, then each of its instances",
    },
  },
  orders: {
    ...ofReads,
    firstId: "First order id of the range; 0 unless given",
    lastId: "Last order id of the range; that of the last order unless given",
    ids: "These orders, in the place of a range: 1,2,5-9",
    state: "Only orders in this state: open or closed",
    holder: "Only orders of this address",
    ...ofListings,
    skipEmpty: { flag: "Leave out orders whose every value is zero" },
  },
  rounds: {
    ...ofReads,
    fromBlock: "First block to look at; the chain's first unless given",
    toBlock: "Last block to look at; the latest unless given",
    ...ofListings,
  },
  report: {
    ...ofReads,
    out: "File to write; vault-report.html unless given",
    orders: "Show these orders too, as in 1-500 or 1,2,5-9",
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
    from: "Settle with this one of the network's accounts",
    confirmations:
      "Wait until so many blocks hold the transaction; 1 unless given",
    timeout: "Wait so many seconds for that, after sending; 300 unless given",
    resume: { flag: "Find out, or finish, what an interrupted settlement did" },
    assert: {
      flag: "Send nothing; exit with 1 if there is a round to settle",
    },
    calldata: {
      flag: "Send nothing; print the unsigned transaction as JSON",
    },
    safe: {
      flag: "With --calldata: as a file that Safe's Transaction Builder imports",
    },
  },
  simulate: {
    ...common,
    as,
    atTime:
      "Settle at this time: end (of the round), ISO date, +1h (from the chain's clock) or Unix seconds",
    orders: "Show what changes in these orders, at most 400, as in 1,2,5-9",
    tokens: "Show what changes in balances of these ERC-20 tokens: 0x…[,0x…]",
    block:
      "Start from this block: a number, safe or finalized; the newest unless given",
    timeout,
    fork: { flag: "Simulate on a fork in this process, not in one request" },
    hardfork: "Fork, and execute by the rules of this hardfork, as in prague",
  },
  "deploy-mocks": {
    ...common,
    scenario: "Canned state of the mocks; open-round unless given",
    yes: { flag: "Deploy also to a network where it costs money" },
  },
  "mock next-round": {
    ...common,
    terms: {
      variadic:
        "What differs from the latest round, as on the wire: strikePrice=66000e18 endTime=+7d",
    },
  },
  "mock set": {
    ...common,
    changes: {
      variadic: required(
        "Values by path, as on the wire: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
      ),
    },
  },
  "mock fail": {
    ...common,
    ...scripted,
    reason: { positional: required("Why: a text, or revert data as 0x hex") },
    ...scriptedPool,
  },
  "mock succeed": { ...common, ...scripted, ...scriptedPool },
  capture: {
    ...common,
    out: required("File to write, as in fixture.json"),
    orders: "Record these orders too, as in 1,2,5-9",
    block: "Record this block: a number, latest, safe or finalized",
    timeout,
  },
  request: {
    ...common,
    operation: {
      positional: required("Name of the operation, as in getLatestRoundInfo"),
    },
    args: { variadic: "The operation's arguments, as on the wire" },
    pool: "Pool to ask, for getLPAmountInfo alone: public or private (required there)",
    from,
    curl: { flag: "Print a curl command; it takes the URL from $RPC_URL" },
  },
  watch: {
    ...common,
    json: { flag: "Print one JSON document a line, for each change" },
    raw: rawShown,
    until:
      "End with exit code 0 once the round is settled, expired, or at a time: ISO date, +1h (from the chain's clock) or Unix seconds",
    interval: "Look every so many seconds; 5 unless given",
  },
  doctor: {
    ...common,
    timeout,
    strict: { flag: "Exit with 1 on warnings, too" },
  },
  decode: {
    ...common,
    hex: {
      positional: required("Call data, returned data or revert data, 0x hex"),
    },
    raw: rawShown,
  },
};

export type TaskName = keyof typeof taskArguments;

/** What a task is run with. */
export type ArgumentsOf<Name extends TaskName> = ValuesOf<
  (typeof taskArguments)[Name]
>;

/** What each task that reads one operation is run with, beside its own. */
export type ReadArguments = ValuesOf<typeof ofReads>;

const forms: { readonly [Name in Unit]?: string } = {
  contractType: ": call or put; both unless given",
  token: ", in tokens",
  percent: ", in percent",
  timestamp: ": ISO date, +7d (from the chain's clock) or Unix seconds",
};

/** What an operation's argument is, and the form in which it is typed. */
export function describeArgument({ label, unit }: Field): string {
  return `${label}${forms[unit] ?? ""}`;
}

/** True if the operation is read for every value where none is given. */
export function isOptional({ unit }: Field): boolean {
  return unit === "contractType";
}

/** The arguments of the task that reads an operation with these inputs. */
export function readArguments(
  inputs: readonly Field[],
): typeof ofReads & Readonly<Record<string, Argument>> {
  return {
    ...ofReads,
    ...Object.fromEntries(
      inputs.map((field): [string, Argument] => {
        const description = describeArgument(field);
        const name = field.option ?? field.name;
        assertInvariant(
          !Object.hasOwn(ofReads, name),
          `an operation's input is named like the option ${name}`,
        );
        return [
          name,
          field.unit === "none"
            ? { positional: required(description) }
            : isOptional(field)
              ? description
              : required(description),
        ];
      }),
    ),
  };
}

import type { ContractAddresses } from "../src/client/addresses.js";
import type { BlockTag } from "../src/client/inputs.js";
import { assertInvariant, invalidArgument } from "../src/errors.js";
import type { VaultError } from "../src/errors.js";
import { contractRoleNames } from "../src/protocol/contracts.js";
import { enumWords } from "../src/protocol/enums.js";
import { keysOf } from "../src/protocol/keys-of.js";
import type { Field } from "../src/protocol/operations.js";
import { operationNames } from "../src/protocol/queries.js";

// Every run of Hardhat loads this file; only a task loads parse-arguments.ts.

/** A time that may count from the chain's clock. */
export interface Time {
  /** The text as typed. */
  readonly text: string;
  readonly after: (chainTime: number) => bigint;
}

export function isTime(value: unknown): value is Time {
  return typeof value === "object" && value !== null && "after" in value;
}

/** Order ids; without `lastId`, up to the last order. */
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
  /** A block that several calls can be pinned to, unlike `pending`. */
  readonly fixedBlock: Exclude<BlockTag, "pending">;
  readonly ids: readonly bigint[];
  readonly orders: OrderSelection;
  readonly time: Time;
  /** Milliseconds. */
  readonly seconds: number;
  readonly integer: bigint;
  /** Wei per gas. */
  readonly gasPrice: bigint;
  /** Unscaled, as is `percent`. */
  readonly amount: bigint;
  readonly percent: bigint;
  readonly choice: never;
}

/** A kind, mapped to the argument's purpose. */
export type Argument = {
  readonly [Kind in keyof Values]: Readonly<Record<Kind, string>>;
}[keyof Values] & {
  /** All values of a `choice`; additional values of another kind. */
  readonly words?: readonly string[];
  /** The greatest number of `ids`, or the smallest number of `seconds`. */
  readonly limit?: number;
  /** One or many values, typed without a flag. */
  readonly position?: "one" | "many";
  /** The default, for the help text. */
  readonly default?: string;
  readonly required?: true;
};

export type Arguments = Readonly<Record<string, Argument>>;

type ValueOf<Described> =
  | Values[keyof Described & keyof Values]
  | (Described extends { readonly words: ReadonlyArray<infer Word> }
      ? Word
      : never);

export type ValuesOf<Described> = {
  readonly [Name in keyof Described]: Described[Name] extends {
    readonly position: "many";
  }
    ? ReadonlyArray<ValueOf<Described[Name]>>
    : Described[Name] extends Readonly<{ flag: string } | { required: true }>
      ? ValueOf<Described[Name]>
      : ValueOf<Described[Name]> | undefined;
};

/** The form of each kind's values, for the help text. */
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
  gasPrice: ", in wei or gwei: 50gwei",
  amount: ", in tokens",
  percent: ", in percent",
  choice: "",
};

export function kindOf(argument: Argument): {
  readonly kind: keyof Values;
  readonly text: string;
} {
  const texts: { readonly [Kind in keyof Values]?: string } = argument;
  const kind = keysOf(forms).find((known) => texts[known] !== undefined);
  assertInvariant(kind !== undefined, "an argument has no kind");
  return { kind, text: texts[kind] ?? "" };
}

/** The help text: purpose, form of the values, default. */
export function describeArgument(argument: Argument): string {
  const { kind, text } = kindOf(argument);
  const { words = [] } = argument;
  const form =
    kind === "choice"
      ? // The error has the whole list, which may be too long for the help.
        words.length > 4
        ? ""
        : `: ${words.join(" or ")}`
      : kind === "time"
        ? `: ${[...words, forms.time].join(", ")}`
        : forms[kind];
  const { default: fallback } = argument;
  return `${text}${form}${fallback === undefined ? "" : ` (default: ${fallback})`}`;
}

const timeout = {
  seconds: "Fail after this many seconds, retries included",
  default: "300 for each request",
} as const;
const from = {
  address: "Sender of the calls",
  default: "networks.<name>.from, else the zero address",
} as const;
const settler = "networks.<name>.from, else the network's first account";
const rawShown: { readonly flag: string } = { flag: "Show unscaled integers" };

const common = {
  json: { flag: "Print one JSON document on stdout" },
  at: { roles: "Contract addresses to use", default: "as configured" },
  instance: { text: "Instance to use, one of networks.<name>.vault.instances" },
} as const;

const ofReads = {
  ...common,
  raw: rawShown,
  block: { block: "Block to read at", default: "latest" },
  timeout,
  from,
} as const;

const ofManyReads = {
  ...ofReads,
  block: { fixedBlock: "Block to read at", default: "latest" },
} as const;

const ofListings = {
  format: {
    choice: "Write plain lines, without network and block",
    words: ["ndjson", "csv"],
  },
  out: {
    file: "File to write: .csv, .ndjson, .json, or else the table as text",
    default: "stdout",
  },
} as const;

const operation = {
  choice: "Operation, for example getLatestRoundInfo",
  words: operationNames,
  position: "one",
  required: true,
} as const;
const pools = ["public", "private"] as const;
const mockPool = {
  choice: "Pool of getLPAmountInfo",
  words: pools,
  default: "both",
} as const;

const failingCalls = {
  pool: mockPool,
  orderId: {
    integer: "Order of getOrderInfo that fails",
    default: "every order",
  },
  from: {
    address: "Caller that fails, an account or a contract",
    default: "every caller",
  },
} as const;

/** The arguments of each task, in the order in which they are listed. */
export const taskArguments = {
  status: {
    ...ofReads,
    all: { flag: "Show the network's own contracts, then each instance" },
    format: {
      choice: "Write metrics for a textfile collector",
      words: ["prometheus"],
    },
  },
  orders: {
    ...ofManyReads,
    ids: { orders: "Orders to list", default: "all" },
    state: { choice: "Only orders in this state", words: enumWords.orderState },
    holder: { address: "Only orders of this holder" },
    ...ofListings,
    skipEmpty: { flag: "Leave out orders with only zero values" },
  },
  rounds: {
    ...ofManyReads,
    block: { fixedBlock: "Last block to read, as with --to-block" },
    fromBlock: { fixedBlock: "First block to read", default: "0" },
    toBlock: { fixedBlock: "Last block to read", default: "latest" },
    ...ofListings,
  },
  report: {
    ...ofManyReads,
    out: { file: "File to write", default: "vault-report.html" },
    ids: { ids: "Orders to show, at most 10,000", default: "none" },
    rounds: { flag: "Show every round of the vault" },
    simulate: { flag: "Simulate a settlement, and show its effects" },
  },
  settle: {
    ...common,
    yes: {
      flag: "Settle without a question; first finish an interrupted settlement",
    },
    ifExpired: { flag: "Settle only an ended round; else exit with 0" },
    partial: {
      flag: "Settle also if the round is not settled by it, as with several transactions",
    },
    maxFeePerGas: {
      gasPrice: "Highest price of a unit of gas; above it nothing is sent",
      default: "maxFeePerGasLimit of the configuration, else no limit",
    },
    from: { address: "Account that settles", default: settler },
    confirmations: { integer: "Confirmations to wait for", default: "1" },
    timeout: {
      seconds: "Stop waiting after this many seconds",
      default: "300",
    },
    resume: { flag: "Only finish an interrupted settlement; start no other" },
    bump: { flag: "With --resume: send it again at a higher fee" },
    cancel: {
      flag: "With --resume: use its nonce for a transfer of 0 to the account itself",
    },
    assert: { flag: "Send nothing; exit with 1 if a round is to be settled" },
    calldata: {
      flag: "Send nothing; print the unsigned transaction, with a gas estimate if --from is given",
    },
    safe: { flag: "Print --calldata as a file for Safe's Transaction Builder" },
  },
  simulate: {
    ...common,
    as: { address: "Account that settles; needs no key", default: settler },
    atTime: {
      time: "Block time of the settlement; end means the round's end",
      words: ["end"],
      default: "the chain's time",
    },
    ids: { ids: "Orders to watch, at most 400", limit: 400, default: "none" },
    tokens: { addresses: "ERC-20 tokens to watch", default: "none" },
    block: { fixedBlock: "Block to start from", default: "latest" },
    timeout,
    fork: { flag: "Simulate on a fork in this process" },
    hardfork: {
      text: "Simulate on a fork with the rules of this hardfork, for example prague",
    },
  },
  "deploy-guard": {
    ...common,
    settler: {
      address: "The only account that may settle through it",
      words: ["anyone"],
      default: "the account that deploys",
    },
    from: { address: "Account that deploys", default: settler },
    yes: { flag: "Deploy without a question" },
  },
  "deploy-mocks": {
    ...common,
    scenario: { text: "State of the mocks", default: "open-round" },
    yes: { flag: "Deploy to a live network, too; this costs money" },
  },
  "mock next-round": {
    ...common,
    terms: {
      text: "Terms that differ from the latest round, unscaled: strikePrice=66000e18 endTime=+7d",
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
      text: "Revert reason: a text, or revert data as 0x hex",
      position: "one",
      required: true,
    },
    ...failingCalls,
  },
  "mock succeed": { ...common, operation, ...failingCalls },
  capture: {
    ...common,
    out: { file: "File to write, for example fixture.json", required: true },
    ids: { ids: "Orders to record, at most 10,000", default: "none" },
    margins: {
      file: 'JSON file with terms whose margins to record: [{ "maxVolume": "1000e18", "APY": "0.2e18", "endTime": 1900000000 }]',
      default: "the terms of the round",
    },
    block: { fixedBlock: "Block to record", default: "latest" },
    timeout,
  },
  request: {
    ...common,
    operation,
    args: {
      text: "Arguments of the operation, unscaled",
      position: "many",
    },
    pool: {
      choice: "Pool of getLPAmountInfo (required for it)",
      words: pools,
    },
    from,
    curl: { flag: "Print a curl command, with the URL in $RPC_URL" },
  },
  watch: {
    ...common,
    json: { flag: "Print one JSON document per change, each on one line" },
    raw: rawShown,
    until: {
      time: "Exit with 0 at this event or time",
      words: ["settled", "expired"],
      default: "never",
    },
    from: { address: "Account that would settle", default: settler },
    interval: { seconds: "Seconds between checks", limit: 0.1, default: "5" },
  },
  doctor: {
    ...common,
    from: { address: "Account that would settle", default: settler },
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

export type ArgumentsOf<Name extends TaskName> = ValuesOf<
  (typeof taskArguments)[Name]
>;

/** Values that every task has, and the timeout of tasks that read. */
export type CommonValues = ValuesOf<typeof common> &
  Partial<Pick<ValuesOf<typeof ofReads>, "timeout">>;

export function excludeEachOther(...flags: readonly string[]): VaultError {
  const where = flags.join(" and ");
  return invalidArgument(where, "they exclude each other", "Use one of them.");
}

function describeInput({ unit, label }: Field): Argument {
  switch (unit) {
    case "contractType":
      return { choice: label, words: enumWords.contractType, default: "all" };
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

export function readArguments(
  inputs: readonly Field[],
): typeof ofReads & Arguments {
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  return {
    ...ofReads,
    ...(isScaled && { raw: { flag: "Show and take unscaled integers" } }),
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

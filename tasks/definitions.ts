import { ContractType, OrderState, keysOf } from "../src/protocol/enums.js";
import { contractRoleNames } from "../src/protocol/operations.js";
import type { Field, ReadOperationName } from "../src/protocol/operations.js";
import { operationEntry, operationNames } from "../src/protocol/queries.js";
import type * as parsers from "./parsers.js";
import type { Parse, Time } from "./parsers.js";

// What each task takes. Every run of Hardhat loads this file; only a task that runs
// loads parsers.ts, and what that needs.

/** A function of parsers.ts, and the form of its texts. */
export interface Parser<Value> {
  readonly from: (all: typeof parsers) => Parse<Value>;
  /** Follows the purpose in the help. */
  readonly form: string;
}

type Kind = "flag" | "option" | "positional" | "variadic";

/** An option, a flag, or an argument that is typed without a flag. */
export interface Option<
  Value = unknown,
  Is extends Kind = Kind,
  Required extends boolean = boolean,
> {
  readonly kind: Is;
  /** The help text: purpose, form of the values, default. */
  readonly help: string;
  readonly isRequired: Required;
  /** Undefined for a flag. */
  readonly by?: Parser<Value>;
}

/** By name, in camel case. */
export type Options = Readonly<Record<string, Option>>;

type ValueOf<Given> =
  Given extends Option<infer Value, infer Is, infer Required>
    ? {
        readonly flag: boolean;
        readonly option: Required extends true ? Value : Value | undefined;
        readonly positional: Value;
        readonly variadic: readonly Value[];
      }[Is]
    : never;

export type ValuesOf<Described> = {
  readonly [Name in keyof Described]: ValueOf<Described[Name]>;
};

function flag(help: string): Option<unknown, "flag", false> {
  return { kind: "flag", help, isRequired: false };
}

function valued<Is extends Kind, Required extends boolean>(
  kind: Is,
  isRequired: Required,
) {
  /** @param absence What stands for a missing value, for the help. */
  return <Value>(
    by: Parser<Value>,
    purpose: string,
    absence?: { readonly default: string },
  ): Option<Value, Is, Required> => {
    const end = absence === undefined ? "" : ` (default: ${absence.default})`;
    return { kind, isRequired, help: `${purpose}${by.form}${end}`, by };
  };
}

const option = valued("option", false);
const requiredOption = valued("option", true);
const positional = valued("positional", true);
const variadic = valued("variadic", false);
const requiredVariadic = valued("variadic", true);

function parser<Value>(from: Parser<Value>["from"], form = ""): Parser<Value> {
  return { from, form };
}

const text = parser((all) => all.parseText);
const file = parser((all) => all.parseFile);
const address = parser((all) => all.parseOneAddress);
/** An address, or `anyone`. */
const settlerOfGuard = parser((all) => all.parseSettler);
const roles = parser(
  (all) => all.parseRoles,
  `: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
);
const block = parser(
  (all) => all.parseBlock,
  ": a number, latest, safe, finalized, earliest or pending",
);
/** A block that several calls can be pinned to, unlike `pending`. */
const fixedBlock = parser(
  (all) => all.parseFixedBlock,
  ": a number, latest, safe, finalized or earliest",
);
const orders = parser(
  (all) => all.parseOrders,
  ": 1,2,5-9, or a range of any length: 0-499, or 500- to the last",
);
const integer = parser((all) => all.parseInteger);
/** Wei per gas. */
const gasPrice = parser((all) => all.parseGasPrice, ", in wei or gwei: 50gwei");
const tokenList = parser((all) => all.parseTokens, ", as 0x…,0x… or none");
/** Unscaled, typed in tokens. */
const amount = parser((all) => all.parseAmount, ", in tokens");
/** Unscaled, typed in percent. */
const percent = parser((all) => all.parsePercent, ", in percent");

/** @param most The greatest number of orders. */
function ids(most: number): Parser<readonly bigint[]> {
  return parser((all) => all.parseIds(most), ": 1,2,5-9");
}

/** Milliseconds, typed in seconds. */
function seconds(least = 0.001): Parser<number> {
  return parser((all) => all.parseSeconds(least));
}

/** A time, or one of the words. */
function timeOr<const Word extends string>(
  ...words: readonly Word[]
): Parser<Time | Word> {
  return parser(
    (all) => all.parseFuture(words),
    `: ${[...words, "ISO date"].join(", ")}, +7d (from the chain's clock) or Unix seconds`,
  );
}

function oneOf<const Word extends string>(
  words: readonly Word[],
  form = `: ${words.join(" or ")}`,
): Parser<Word> {
  return parser((all) => all.parseWord(words), form);
}

/** A scenario of the mocks; their names, since the start loads no mocks. */
const scenario = parser(
  (all) => all.parseScenario,
  ": open-round, expired-round, settled-round, full-round, empty-vault, no-liquidity, many-orders or as-deployed",
);

/** Description and options of a task, as the help shows them. */
export interface Task<Described extends Options = Options> {
  /** After `vault`. */
  readonly name: string;
  readonly description: string;
  readonly options: Described;
  /** Of each row, one option may be given. */
  readonly alternatives: ReadonlyArray<readonly string[]>;
}

/** Of every task. */
const common = {
  json: flag("Print one JSON document on stdout"),
  instance: option(
    text,
    "Instance to use, one of networks.<name>.vault.instances",
  ),
} as const;

export type TaskValues<Described extends Task> = ValuesOf<Described["options"]>;

/** Values that every task has, and those of tasks that use contracts or read. */
export type CommonValues = ValuesOf<typeof common> &
  Partial<ValuesOf<Pick<typeof ofReads, "at" | "timeout">>>;

function describe<const Own extends Options>(
  name: string,
  description: string,
  own: Own,
  alternatives: ReadonlyArray<
    ReadonlyArray<string & (keyof Own | keyof typeof common)>
  > = [],
): Task<typeof common & Own> {
  return { name, description, options: { ...common, ...own }, alternatives };
}

/** Of tasks that use contracts. */
const at = option(roles, "Contract addresses to use", {
  default: "as configured",
});
const raw = flag("Show unscaled integers");
const timeout = option(
  seconds(),
  "Fail after this many seconds, retries included",
  { default: "300 for each request" },
);
/** The sender of calls. */
const from = option(address, "Sender of the calls", {
  default: "networks.<name>.from, else the zero address",
});
const pools = oneOf(["public", "private"]);
const operation = positional(
  oneOf(operationNames, ""),
  "Operation, for example getLatestRoundInfo",
);

/** The account that settles, or sends another transaction. */
function sender(purpose: string): typeof from {
  return option(address, purpose, {
    default: "networks.<name>.from, else the network's first account",
  });
}

function ofBlock(purpose: string, absence = "latest") {
  return option(fixedBlock, purpose, { default: absence });
}

/** Of tasks that read with one call. */
const ofReads = {
  at,
  raw,
  block: option(block, "Block to read at", { default: "latest" }),
  timeout,
  from,
} as const;

/** Of tasks that read with several calls. */
const ofManyReads = { ...ofReads, block: ofBlock("Block to read at") } as const;

const ofListings = {
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

/** Of tasks that wait until their transactions are mined. */
const ofTransactions = {
  timeout: option(seconds(), "Fail after this many seconds", {
    default: "120 until a transaction is mined",
  }),
} as const;

/** The task of an operation, with an option for each input. */
export function readTask(
  name: ReadOperationName,
): Task<typeof ofReads & Options> {
  const { task, description, inputs } = operationEntry(name);
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  return describe(task, description, {
    ...ofReads,
    ...(isScaled && { raw: flag("Show and take unscaled integers") }),
    ...Object.fromEntries(
      inputs.map((field) => [field.option ?? field.name, inputOption(field)]),
    ),
  });
}

function inputOption({ unit, label }: Field): Option {
  switch (unit) {
    case "contractType":
      return option(oneOf(keysOf(ContractType)), label, { default: "all" });
    case "timestamp":
      return requiredOption(timeOr(), label);
    case "token":
      return requiredOption(amount, label);
    case "percent":
      return requiredOption(percent, label);
    case "none":
      return positional(integer, label);
    default:
      return requiredOption(integer, label);
  }
}

export const statusTask = describe(
  "status",
  "Show every reading at one block",
  {
    ...ofReads,
    all: flag("Show the network's own contracts, then each instance"),
    format: option(
      oneOf(["prometheus"]),
      "Write metrics for a textfile collector",
    ),
  },
  [
    ["json", "format"],
    ["all", "at"],
    ["all", "instance"],
  ],
);

export const ordersTask = describe(
  "orders",
  "List orders",
  {
    ...ofManyReads,
    ids: option(orders, "Orders to list", { default: "all" }),
    state: option(oneOf(keysOf(OrderState)), "Only orders in this state"),
    holder: option(address, "Only orders of this holder"),
    limit: option(integer, "Only this many, the newest first"),
    ...ofListings,
    skipEmpty: flag("Leave out orders with only zero values"),
  },
  [
    ["json", "format"],
    ["raw", "scaled"],
  ],
);

export const roundsTask = describe(
  "rounds",
  "List every round, oldest first",
  {
    ...ofManyReads,
    block: option(fixedBlock, "Last block to read, as with --to-block"),
    fromBlock: ofBlock("First block to read", "0"),
    toBlock: ofBlock("Last block to read"),
    ...ofListings,
  },
  [
    ["json", "format"],
    ["raw", "scaled"],
    ["block", "toBlock"],
  ],
);

export const reportTask = describe(
  "report",
  "Write a self-contained HTML report",
  {
    ...ofManyReads,
    out: option(file, "File to write", { default: "vault-report.html" }),
    ids: option(ids(10_000), "Orders to show, at most 10,000", {
      default: "none",
    }),
    rounds: flag("Show every round of the vault"),
    simulate: flag("Simulate a settlement, and show its effects"),
  },
);

export const simulateTask = describe("simulate", "Simulate a settlement", {
  at,
  from: sender("Account that settles; needs no key"),
  atTime: option(
    timeOr("end"),
    "Block time of the settlement; end means the round's end",
    { default: "the chain's time" },
  ),
  ids: option(ids(400), "Orders to watch, at most 400", { default: "none" }),
  tokens: option(
    tokenList,
    "ERC-20 tokens to watch, and which a guard forwards",
    { default: "`tokens` of the configuration" },
  ),
  block: ofBlock("Block to start from"),
  timeout,
  fork: flag("Simulate on a fork in this process"),
  hardfork: option(
    text,
    "Simulate on a fork with the rules of this hardfork, for example prague",
  ),
});

export const settleTask = describe(
  "settle",
  "Settle the vault's current round",
  {
    at,
    yes: flag(
      "Settle without a question; first finish an interrupted settlement",
    ),
    ifExpired: flag("Settle only an ended round; else exit with 0"),
    partial: flag(
      "Settle also if the round is not settled by it, as with several transactions",
    ),
    maxFeePerGas: option(
      gasPrice,
      "Highest price of a unit of gas; above it nothing is sent",
      {
        default:
          "maxFeePerGasLimit of the configuration; else --yes refuses on a live chain",
      },
    ),
    tokens: option(tokenList, "ERC-20 tokens that a guard forwards", {
      default: "`tokens` of the configuration",
    }),
    retryReverted: flag(
      "With --yes: settle also if the last settlement of the round reverted",
    ),
    from: sender("Account that settles"),
    confirmations: option(integer, "Confirmations to wait for", {
      default:
        "vault.confirmations, else 3; 1 on a development node, or if maxHeadAge is false",
    }),
    timeout: option(seconds(), "Stop waiting after this many seconds", {
      default: "300",
    }),
    resume: flag("Only finish an interrupted settlement; start no other"),
    bump: flag("With --resume: send it again at a higher fee"),
    cancel: flag(
      "With --resume: use its nonce for a transfer of 0 to the account itself",
    ),
    assert: flag("Send nothing; exit with 1 if a round is to be settled"),
    calldata: flag(
      "Send nothing; print the unsigned transaction, with a gas estimate if --from is given",
    ),
    safe: flag("Print --calldata as a file for Safe's Transaction Builder"),
  },
  [
    ["assert", "calldata", "resume"],
    ["bump", "cancel"],
    ["retryReverted", "assert", "calldata", "resume"],
    ["calldata", "partial"],
    ["calldata", "maxFeePerGas"],
  ],
);

export const deployGuardTask = describe(
  "deploy-guard",
  "Deploy a guard, which settles one round or reverts",
  {
    settler: option(
      settlerOfGuard,
      "The only account that may settle through it",
      { default: "the account that deploys" },
    ),
    from: sender("Account that deploys"),
    yes: flag("Deploy without a question"),
    ...ofTransactions,
  },
);

export const deployMocksTask = describe(
  "deploy-mocks",
  "Deploy mocks of the six contracts",
  {
    scenario: option(scenario, "State of the mocks", { default: "open-round" }),
    yes: flag("Deploy to a live network, too; this costs money"),
    ...ofTransactions,
  },
);

const ofMocks = { at, ...ofTransactions } as const;

const failingCalls = {
  ...ofMocks,
  pool: option(pools, "Pool of getLPAmountInfo", { default: "both" }),
  orderId: option(integer, "Order of getOrderInfo that fails", {
    default: "every order",
  }),
  from: option(address, "Caller that fails, an account or a contract", {
    default: "every caller",
  }),
} as const;

export const nextRoundTask = describe(
  "mock next-round",
  "Start a new round on the mocks",
  {
    ...ofMocks,
    terms: variadic(
      text,
      "Terms that differ from the latest round, unscaled: strikePrice=66000e18 endTime=+7d",
    ),
  },
);

export const setTask = describe(
  "mock set",
  "Change values that the mocks return",
  {
    ...ofMocks,
    changes: requiredVariadic(
      text,
      "Unscaled values by path: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
    ),
  },
);

export const failTask = describe(
  "mock fail",
  "Make an operation of the mocks revert",
  {
    operation,
    reason: positional(text, "Revert reason: a text, or revert data as 0x hex"),
    ...failingCalls,
  },
);

export const succeedTask = describe(
  "mock succeed",
  "Make an operation of the mocks succeed again",
  { operation, ...failingCalls },
);

export const captureTask = describe(
  "capture",
  "Record every reading as a fixture for tests",
  {
    at,
    out: requiredOption(file, "File to write, for example fixture.json"),
    ids: option(ids(10_000), "Orders to record, at most 10,000", {
      default: "none",
    }),
    margins: option(
      file,
      'JSON file with terms whose margins to record: [{ "maxVolume": "1000e18", "APY": "0.2e18", "endTime": 1900000000 }]',
      { default: "the terms of the round" },
    ),
    block: ofBlock("Block to record"),
    timeout,
  },
);

export const requestTask = describe(
  "request",
  "Print the JSON-RPC request of an operation",
  {
    at,
    operation,
    args: variadic(text, "Arguments of the operation, unscaled"),
    pool: option(pools, "Pool of getLPAmountInfo (required for it)"),
    from,
    curl: flag("Print a curl command, with the URL in $RPC_URL"),
  },
);

export const watchTask = describe("watch", "Show each change of the readings", {
  at,
  json: flag("Print one JSON document per change, each on one line"),
  raw,
  until: option(
    timeOr("settled", "expired"),
    "Exit with 0 at this event or time",
    { default: "never" },
  ),
  from: sender("Account that would settle"),
  interval: option(seconds(0.1), "Seconds between checks", { default: "5" }),
});

export const doctorTask = describe(
  "doctor",
  "Check network, contracts and signer",
  {
    at,
    from: sender("Account that would settle"),
    timeout,
    strict: flag("Exit with 1 on warnings, too"),
  },
);

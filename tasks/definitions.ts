import { ContractType, OrderState, keysOf } from "../src/protocol/enums.js";
import type { Field, ReadOperationName } from "../src/protocol/operations.js";
import { operationEntry } from "../src/protocol/queries.js";
import {
  flag,
  option,
  positional,
  requiredOption,
  requiredVariadic,
  variadic,
} from "./options.js";
import type { Option, Options, ValuesOf } from "./options.js";

// What each task takes. Every run of Hardhat loads this file, so it imports only what is light.

/** Description and options of a task, as the help shows them. */
export interface Task<Described extends Options = Options> {
  /** After `vault`. */
  readonly name: string;
  readonly description: string;
  readonly options: Described;
}

export type TaskValues<Described extends Task> = ValuesOf<Described["options"]>;

/** Of every task. */
const common = {
  json: flag("Print one JSON document on stdout"),
  instance: option(
    "text",
    "Instance to use, one of networks.<name>.vault.instances",
  ),
};

function describe<Own extends Options>(
  name: string,
  description: string,
  own: Own,
): Task<typeof common & Own> {
  return { name, description, options: { ...common, ...own } };
}

/** Of tasks that use contracts. */
const at = option("roles", "Contract addresses to use", "as configured");
const raw = flag("Show unscaled integers");
const timeout = option(
  "seconds",
  "Most seconds to open the network, and then to read, retries included",
  "300 for each request",
);
/** The sender of calls. */
const from = option(
  "address",
  "Sender of the calls",
  "networks.<name>.from, else the zero address",
);
const pools = ["public", "private"] as const;
const operation = positional(
  "operation",
  "Operation, for example getLatestRoundInfo",
);

/** The account that settles, or sends another transaction. */
function sender(purpose: string) {
  return option(
    "address",
    purpose,
    "networks.<name>.from, else the network's first account",
  );
}

/** A block that several calls can be pinned to, unlike `pending`. */
function ofBlock(purpose: string, absence = "latest") {
  return option("fixedBlock", purpose, absence);
}

/** Of tasks that read with one call. */
const ofReads = {
  at,
  raw,
  block: option("block", "Block to read at", "latest"),
  timeout,
  from,
};

/** Values that every task has, and those of tasks that use contracts or read. */
export type CommonValues = ValuesOf<typeof common> &
  Partial<ValuesOf<Pick<typeof ofReads, "at" | "timeout">>>;

/** Of tasks that read with several calls. */
const ofManyReads = { ...ofReads, block: ofBlock("Block to read at") };

const ofListings = {
  ...ofManyReads,
  format: option(
    ["ndjson", "csv"],
    "Write plain lines, without network and block; csv is for spreadsheets",
  ),
  scaled: flag("Scale the values of CSV by the known or configured decimals"),
  out: option(
    "file",
    "File to write: .csv, .ndjson, .json, or else the table as text",
    "stdout",
  ),
};

/** Of tasks that wait until their transactions are mined. */
const timeoutOfTransaction = option(
  "seconds",
  "Most seconds to open the network, and then to finish",
  "120 until a transaction is mined",
);

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
      return option(keysOf(ContractType), label, "all");
    case "timestamp":
      return requiredOption("futureTime", label);
    case "token":
      return requiredOption("amount", label);
    case "percent":
      return requiredOption("percent", label);
    case "none":
      return positional("integer", label);
    default:
      return requiredOption("integer", label);
  }
}

export const statusTask = describe(
  "status",
  "Show every reading at one block",
  {
    ...ofReads,
    all: flag("Show the network's own contracts, then each instance"),
    format: option(["prometheus"], "Write metrics for a textfile collector"),
  },
);

export const ordersTask = describe("orders", "List orders", {
  ...ofListings,
  ids: option("orders", "Orders to list", "all"),
  state: option(keysOf(OrderState), "Only orders in this state"),
  holder: option("address", "Only orders of this holder"),
  limit: option("integer", "Only this many, the newest first"),
  skipEmpty: flag("Leave out orders with only zero values"),
});

export const roundsTask = describe("rounds", "List every round, oldest first", {
  ...ofListings,
  block: option("fixedBlock", "Last block to read, as with --to-block"),
  fromBlock: ofBlock("First block to read", "0"),
  toBlock: ofBlock("Last block to read"),
});

export const reportTask = describe(
  "report",
  "Write a self-contained HTML report",
  {
    ...ofManyReads,
    out: option("file", "File to write", "vault-report.html"),
    ids: option("ids", "Orders to show, at most 10,000", "none"),
    rounds: flag("Show every round of the vault"),
    simulate: flag("Simulate a settlement, and show its effects"),
  },
);

export const simulateTask = describe("simulate", "Simulate a settlement", {
  at,
  from: sender("Account that settles; needs no key"),
  atTime: option(
    "settlementTime",
    "Block time of the settlement; end means the round's end",
    "the chain's time",
  ),
  ids: option("ids", "Orders to watch, at most 400", "none"),
  tokens: option(
    "tokens",
    "ERC-20 tokens to watch, and which a guard forwards",
    "`tokens` of the configuration",
  ),
  block: ofBlock("Block to start from"),
  timeout,
  fork: flag("Simulate on a fork in this process"),
  hardfork: option(
    "text",
    "Simulate on a fork with the rules of this hardfork, for example prague",
  ),
});

export const settleTask = describe(
  "settle",
  "Settle the vault's current round",
  {
    at,
    yes: flag(
      "Settle, or finish an interrupted settlement, without a question",
    ),
    ifExpired: flag("Settle only an ended round; else exit with 0"),
    partial: flag(
      "Settle also if the round is not settled by it, as with several transactions",
    ),
    maxFeePerGas: option(
      "gasPrice",
      "Highest price of a unit of gas; above it nothing is sent",
      "maxFeePerGasLimit of the configuration; else --yes refuses on a live chain",
    ),
    tokens: option(
      "tokens",
      "ERC-20 tokens that a guard forwards",
      "`tokens` of the configuration",
    ),
    retryReverted: flag(
      "With --yes: settle also if the last settlement of the round reverted",
    ),
    from: sender("Account that settles"),
    confirmations: option(
      "integer",
      "Confirmations to wait for",
      "vault.confirmations, else 3; 1 on a development node, or if maxHeadAge is false",
    ),
    timeout: option(
      "seconds",
      "Most seconds to open the network, and to wait once the transaction is sent",
      "300",
    ),
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
);

export const deployGuardTask = describe(
  "deploy-guard",
  "Deploy a guard, which settles one round or reverts",
  {
    settler: option(
      "settler",
      "The only account that may settle through it",
      "the account that deploys",
    ),
    from: sender("Account that deploys"),
    yes: flag("Deploy without a question"),
    timeout: timeoutOfTransaction,
  },
);

export const deployMocksTask = describe(
  "deploy-mocks",
  "Deploy mocks of the six contracts",
  {
    scenario: option("scenario", "State of the mocks", "open-round"),
    yes: flag("Deploy to a live network, too; this costs money"),
    timeout: timeoutOfTransaction,
  },
);

const ofMocks = { at, timeout: timeoutOfTransaction };

const failingCalls = {
  ...ofMocks,
  pool: option(pools, "Pool of getLPAmountInfo", "both"),
  orderId: option("integer", "Order of getOrderInfo that fails", "every order"),
  from: option(
    "address",
    "Caller that fails, an account or a contract",
    "every caller",
  ),
};

export const nextRoundTask = describe(
  "mock next-round",
  "Start a new round on the mocks",
  {
    ...ofMocks,
    terms: variadic(
      "text",
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
      "text",
      "Unscaled values by path: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
    ),
  },
);

export const failTask = describe(
  "mock fail",
  "Make an operation of the mocks revert",
  {
    operation,
    reason: positional(
      "text",
      "Revert reason: a text, or revert data as 0x hex",
    ),
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
    out: requiredOption("file", "File to write, for example fixture.json"),
    ids: option("ids", "Orders to record, at most 10,000", "none"),
    margins: option(
      "file",
      'JSON file with terms whose margins to record: [{ "maxVolume": "1000e18", "APY": "0.2e18", "endTime": 1900000000 }]',
      "the terms of the round",
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
    args: variadic("text", "Arguments of the operation, unscaled"),
    pool: option(pools, "Pool of getLPAmountInfo (required for it)"),
    from,
    curl: flag("Print a curl command, with the URL in $RPC_URL"),
  },
);

export const watchTask = describe("watch", "Show each change of the readings", {
  at,
  json: flag("Print one JSON document per change, each on one line"),
  raw,
  until: option("watchEnd", "Exit with 0 at this event or time", "never"),
  from: sender("Account that would settle"),
  interval: option("seconds", "Seconds between checks", "5"),
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

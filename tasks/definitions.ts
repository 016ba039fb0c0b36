import { scenarios } from "../src/mocks/scenarios.js";
import {
  ContractType,
  OrderState,
  keysOf,
  contractRoleNames,
  operationEntry,
  operationNames,
} from "../src/protocol/index.js";
import type { Field, ReadOperationName } from "../src/protocol/index.js";
import type { Form, TaskOption, Parsed, Task } from "./parse-options.js";

// What each task takes. Every run of Hardhat loads this file, so it imports only what is
// light: parse-options.ts, which has the parsers, is loaded by a task that runs.

type Options = Readonly<Record<string, TaskOption>>;

type ValuesOf<Described> = {
  readonly [Name in keyof Described]: Described[Name] extends TaskOption<
    infer Value
  >
    ? Value
    : never;
};

function flag(help: string): TaskOption<boolean> {
  return { kind: "flag", help, isRequired: false };
}

function option<const By extends Form>(
  parse: By,
  help: string,
): TaskOption<Parsed<By> | undefined> {
  return { kind: "option", help, isRequired: false, parse };
}

function required<const By extends Form>(
  parse: By,
  help: string,
): TaskOption<Parsed<By>> {
  return { kind: "option", help, isRequired: true, parse };
}

function positional<const By extends Form>(
  parse: By,
  help: string,
): TaskOption<Parsed<By>> {
  return { kind: "positional", help, isRequired: true, parse };
}

function texts(
  help: string,
  isRequired = false,
): TaskOption<readonly string[]> {
  return { kind: "variadic", help, isRequired };
}

/** Of every task. */
const common = {
  json: flag("Print one JSON document on stdout"),
  instance: option("text", "One of networks.<name>.vault.instances"),
};

function describe<Own extends Options>(
  description: string,
  own: Own,
): Task<ValuesOf<typeof common & Own>> {
  return { description, options: { ...common, ...own } };
}

/** Of tasks that use contracts. */
const at = option(
  "roles",
  `Contract addresses to use: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")} (default: as configured)`,
);
const raw = flag("Show unscaled integers");
const timeout = option(
  "seconds",
  "Most seconds for the whole task (default: 300 a request)",
);
/** The caller of reads. */
const from = option(
  "address",
  "Caller of the reads (default: networks.<name>.from, else the zero address)",
);
const operation = positional(operationNames, "Operation, as queryVolume");
const pool = option(["public", "private"], "Pool: public or private");
const MOMENT = "ISO date, +7d (from the chain's clock) or Unix seconds";

/** The account that settles, or sends another transaction. */
function sender(purpose: string) {
  return option(
    "address",
    `${purpose} (default: networks.<name>.from, else the network's first account)`,
  );
}

/** A block that several calls can be pinned to, unlike `pending`. */
function fixedBlock(purpose: string, absence = "latest") {
  return option(
    "fixedBlock",
    `${purpose}: a number, latest, safe, finalized or earliest (default: ${absence})`,
  );
}

function ids(purpose: string) {
  return option("ids", `${purpose}: 1,2,5-9 (default: none)`);
}

const tokens = option(
  "tokens",
  "ERC-20 tokens that a guard forwards, and a simulation watches, as 0x…,0x… or none (default: `tokens` of the configuration)",
);

/** Of tasks that read at one block, which may be the pending one. */
const ofReads = {
  at,
  raw,
  block: option(
    "block",
    "Block to read at: a number, latest, safe, finalized, earliest or pending (default: latest)",
  ),
  timeout,
  from,
};

/** What every task has, or tasks that use contracts or read. */
export type CommonValues = ValuesOf<typeof common> &
  Partial<ValuesOf<Pick<typeof ofReads, "at" | "timeout">>>;

/** Of tasks that read with several calls. */
const ofManyReads = { ...ofReads, block: fixedBlock("Block to read at") };

const ofListings = {
  ...ofManyReads,
  format: option(
    ["ndjson", "csv"],
    "Write plain lines, without network and block; csv is for spreadsheets: ndjson or csv",
  ),
  scaled: flag("Scale the values of CSV by the known or configured decimals"),
  out: option(
    "text",
    "File to write: .csv, .ndjson, .json, or else the table as text (default: stdout)",
  ),
};

/** Of tasks that wait until their transactions are mined. */
function timeoutOfTransaction(seconds: number) {
  return option(
    "seconds",
    `Most seconds for the whole task (default: ${seconds} until mined)`,
  );
}

/** The task of an operation, with an option for each input. */
export function readTask(
  name: ReadOperationName,
): Task<ValuesOf<typeof common & typeof ofReads>> {
  const { description, inputs } = operationEntry(name);
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  return describe(description, {
    ...ofReads,
    raw: isScaled ? flag("Show and take unscaled integers") : raw,
    ...Object.fromEntries(
      inputs.map((field) => [field.option ?? field.name, inputOption(field)]),
    ),
  });
}

function inputOption({ unit, label }: Field): TaskOption {
  switch (unit) {
    case "contractType":
      return option(
        keysOf(ContractType),
        `${label}: call or put (default: all)`,
      );
    case "timestamp":
      return required("futureTime", `${label}: ${MOMENT}`);
    case "token":
      return required("amount", `${label}, in tokens`);
    case "percent":
      return required("percent", `${label}, in percent`);
    case "none":
      return positional("integer", label);
    default:
      return required("integer", label);
  }
}

const ofMocks = { at, timeout: timeoutOfTransaction(120) };
const failingCalls = {
  ...ofMocks,
  pool,
  orderId: option(
    "integer",
    "Order of getOrderInfo that fails (default: every order)",
  ),
  from: option(
    "address",
    "Caller that fails, an account or a contract (default: every caller)",
  ),
};

/**
 * By name, as typed after `vault`. Tasks of one read operation, as `vault pools`, are not here:
 * {@link readTask} makes each from its entry in src/protocol/operations.ts.
 */
export const tasks = {
  status: describe("Show every reading at one block", {
    ...ofReads,
    all: flag("Show the network's own contracts, then each instance"),
    format: option(["prometheus"], "Write metrics: prometheus"),
  }),

  orders: describe("List orders", {
    ...ofListings,
    ids: option(
      "orders",
      "Orders to list: 1,2,5-9, or a range of any length: 0-499, or 500- to the last (default: all)",
    ),
    state: option(keysOf(OrderState), "Only orders that are open or closed"),
    holder: option("address", "Only orders of this holder"),
    limit: option("count", "Only this many, the newest first"),
    skipEmpty: flag("Leave out orders with only zero values"),
  }),

  rounds: describe("List every round, oldest first", {
    ...ofListings,
    block: fixedBlock("Last block to read, as with --to-block"),
    fromBlock: fixedBlock("First block to read", "0"),
    toBlock: fixedBlock("Last block to read"),
  }),

  report: describe("Write a self-contained HTML report", {
    ...ofManyReads,
    out: option("text", "File to write (default: vault-report.html)"),
    ids: ids("Orders to show, at most 10,000"),
    rounds: flag("Show every round of the vault"),
    simulate: flag("Simulate a settlement, and show its effects"),
  }),

  simulate: describe("Simulate a settlement", {
    at,
    from: sender("Account that settles; needs no key"),
    atTime: option(
      "settlementTime",
      `Block time of the settlement; end means the round's end: end, ${MOMENT} (default: the chain's time)`,
    ),
    ids: ids("Orders to watch, at most 400"),
    tokens,
    block: fixedBlock("Block to start from"),
    timeout,
    fork: flag("Simulate on a fork in this process"),
    hardfork: option("text", "Simulate on a fork with this hardfork: prague"),
  }),

  settle: describe("Settle the vault's current round", {
    at,
    yes: flag("Ask nothing; if a settlement was interrupted, finish only that"),
    ifExpired: flag("Settle only an ended round; else exit with 0"),
    partial: flag("Settle also if the round stays open then"),
    maxFeePerGas: option(
      "gasPrice",
      "Highest price of a unit of gas, in wei or gwei: 50gwei (default: maxFeePerGasLimit of the configuration; else --yes refuses on a live chain)",
    ),
    tokens,
    retryReverted: flag("With --yes: settle again after one that reverted"),
    from: sender("Account that settles"),
    confirmations: option(
      "count",
      "Confirmations to wait for (default: vault.confirmations, else 3; 1 on a development node, or if maxHeadAge is false)",
    ),
    timeout: option(
      "seconds",
      "Most seconds for each variable of the configuration, to connect, for each request, and to follow the transaction (default: 300 for the transaction)",
    ),
    resume: flag("Only finish an interrupted settlement; start no other"),
    bump: flag(
      "With --resume: send it again at a higher fee; asks, unless --yes",
    ),
    cancel: flag(
      "With --resume: use its nonce for a transfer of 0; asks nothing",
    ),
    assert: flag("Send nothing; exit with 1 if a round is to be settled"),
    calldata: flag("Send nothing; print the unsigned transaction"),
    safe: flag("Print --calldata as a file for Safe's Transaction Builder"),
  }),

  "deploy-guard": describe("Deploy a guard: it settles one round, or reverts", {
    settler: option(
      "settler",
      "The only account that may settle through it (default: the account that deploys)",
    ),
    from: sender("Account that deploys"),
    yes: flag("Deploy without a question"),
    timeout: timeoutOfTransaction(300),
  }),

  "deploy-mocks": describe("Deploy mocks of the six contracts", {
    scenario: option(
      keysOf(scenarios),
      `State of the mocks: ${keysOf(scenarios).join(", ")} (default: open-round)`,
    ),
    yes: flag(
      "Deploy to a live network, too; this costs money, and needs maxFeePerGasLimit",
    ),
    timeout: timeoutOfTransaction(120),
  }),

  "mock next-round": describe("Start a new round on the mocks", {
    ...ofMocks,
    terms: texts(
      "Terms that differ from the latest round, unscaled, each a word of its own: strikePrice=66000e18 endTime=+7d",
    ),
  }),

  "mock set": describe("Change values that the mocks return", {
    ...ofMocks,
    changes: texts(
      "Unscaled values by path: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
      true,
    ),
  }),

  "mock fail": describe("Make an operation of the mocks revert", {
    operation,
    reason: positional("text", "Revert reason: a text, or data as 0x hex"),
    ...failingCalls,
  }),

  "mock succeed": describe("Make an operation of the mocks succeed again", {
    operation,
    ...failingCalls,
  }),

  capture: describe("Record every reading as a fixture for tests", {
    at,
    out: required("text", "File to write, for example fixture.json"),
    ids: ids("Orders to record, at most 10,000"),
    block: fixedBlock("Block to record"),
    timeout,
  }),

  request: describe("Print the JSON-RPC request of an operation", {
    at,
    operation,
    args: texts("Arguments of the operation, unscaled"),
    pool,
    from,
    curl: flag("Print a curl command, with the URL in $RPC_URL"),
  }),

  watch: describe("Show each change of the readings", {
    at,
    json: flag("Print one JSON document per change, each on one line"),
    raw,
    until: option(
      "watchEnd",
      `Exit with 0 at this event or time: settled, expired, ${MOMENT} (default: never)`,
    ),
    from: sender("Account that would settle"),
    interval: option("seconds", "Seconds between checks (default: 5)"),
  }),

  doctor: describe("Check network, contracts and signer", {
    at,
    from: sender("Account that would settle"),
    timeout,
    strict: flag("Exit with 1 on warnings, too"),
  }),
};

/** The parsed options of a task. */
export type TaskValues<Name extends keyof typeof tasks> =
  (typeof tasks)[Name] extends Task<infer Values> ? Values : never;

import { enumWords } from "../../src/protocol/enums.js";
import type { Field } from "../../src/protocol/operations.js";
import {
  address,
  amount,
  file,
  fixedBlock,
  flag,
  gasPrice,
  ids,
  integer,
  oneOf,
  option,
  orders,
  percent,
  positional,
  requiredOption,
  scenario,
  seconds,
  settlerOfGuard,
  text,
  time,
  timeOr,
  tokenList,
  variadic,
} from "./options.js";
import type { Option, Options } from "./options.js";
import {
  at,
  describeTask,
  from,
  ofListings,
  ofManyReads,
  ofReads,
  operation,
  pools,
  raw,
  settler,
  timeout,
  timeoutOfTransactions,
} from "./shared.js";
import type { Task } from "./shared.js";

export const captureTask = describeTask(
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
    block: option(fixedBlock, "Block to record", { default: "latest" }),
    timeout,
  },
);

export const deployGuardTask = describeTask(
  "Deploy a guard, which settles one round or reverts",
  {
    settler: option(
      settlerOfGuard,
      "The only account that may settle through it",
      { default: "the account that deploys" },
    ),
    from: settler("Account that deploys"),
    yes: flag("Deploy without a question"),
    timeout: timeoutOfTransactions,
  },
);

export const deployMocksTask = describeTask(
  "Deploy mocks of the six contracts",
  {
    scenario: option(scenario, "State of the mocks", { default: "open-round" }),
    yes: flag("Deploy to a live network, too; this costs money"),
    timeout: timeoutOfTransactions,
  },
);

export const doctorTask = describeTask("Check network, contracts and signer", {
  at,
  from: settler("Account that would settle"),
  timeout,
  strict: flag("Exit with 1 on warnings, too"),
});

const ofMocks = { at, timeout: timeoutOfTransactions } as const;

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

export const nextRoundTask = describeTask("Start a new round on the mocks", {
  ...ofMocks,
  terms: variadic(
    text,
    "Terms that differ from the latest round, unscaled: strikePrice=66000e18 endTime=+7d",
    { isRequired: false },
  ),
});

export const setTask = describeTask("Change values that the mocks return", {
  ...ofMocks,
  changes: variadic(
    text,
    "Unscaled values by path: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
    { isRequired: true },
  ),
});

export const failTask = describeTask("Make an operation of the mocks revert", {
  operation,
  reason: positional(text, "Revert reason: a text, or revert data as 0x hex"),
  ...failingCalls,
});

export const succeedTask = describeTask(
  "Make an operation of the mocks succeed again",
  { operation, ...failingCalls },
);

export const ordersTask = describeTask(
  "List orders",
  {
    ...ofManyReads,
    ids: option(orders, "Orders to list", { default: "all" }),
    state: option(oneOf(enumWords.orderState), "Only orders in this state"),
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

/** The task of an operation, with an option for each input. */
export function readTask(
  description: string,
  inputs: readonly Field[],
): Task<typeof ofReads & Options> {
  const isScaled = inputs.some(({ unit }) => /^(?:token|percent)$/u.test(unit));
  return describeTask(description, {
    ...ofReads,
    ...(isScaled && { raw: flag("Show and take unscaled integers") }),
    ...Object.fromEntries(
      inputs.map((field) => [field.option ?? field.name, inputOption(field)]),
    ),
  });
}

function inputOption({ unit, label }: Field): Option<unknown> {
  switch (unit) {
    case "contractType":
      return option(oneOf(enumWords.contractType), label, { default: "all" });
    case "timestamp":
      return requiredOption(time, label);
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

export const reportTask = describeTask("Write a self-contained HTML report", {
  ...ofManyReads,
  out: option(file, "File to write", { default: "vault-report.html" }),
  ids: option(ids(10_000), "Orders to show, at most 10,000", {
    default: "none",
  }),
  rounds: flag("Show every round of the vault"),
  simulate: flag("Simulate a settlement, and show its effects"),
});

export const requestTask = describeTask(
  "Print the JSON-RPC request of an operation",
  {
    at,
    operation,
    args: variadic(text, "Arguments of the operation, unscaled", {
      isRequired: false,
    }),
    pool: option(pools, "Pool of getLPAmountInfo (required for it)"),
    from,
    curl: flag("Print a curl command, with the URL in $RPC_URL"),
  },
);

export const roundsTask = describeTask(
  "List every round, oldest first",
  {
    ...ofManyReads,
    block: option(fixedBlock, "Last block to read, as with --to-block"),
    fromBlock: option(fixedBlock, "First block to read", { default: "0" }),
    toBlock: option(fixedBlock, "Last block to read", { default: "latest" }),
    ...ofListings,
  },
  [
    ["json", "format"],
    ["raw", "scaled"],
    ["block", "toBlock"],
  ],
);

export const settleTask = describeTask(
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
    from: settler("Account that settles"),
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

export const simulateTask = describeTask("Simulate a settlement", {
  at,
  from: settler("Account that settles; needs no key"),
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
  block: option(fixedBlock, "Block to start from", { default: "latest" }),
  timeout,
  fork: flag("Simulate on a fork in this process"),
  hardfork: option(
    text,
    "Simulate on a fork with the rules of this hardfork, for example prague",
  ),
});

export const statusTask = describeTask(
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

export const watchTask = describeTask("Show each change of the readings", {
  at,
  json: flag("Print one JSON document per change, each on one line"),
  raw,
  until: option(
    timeOr("settled", "expired"),
    "Exit with 0 at this event or time",
    { default: "never" },
  ),
  from: settler("Account that would settle"),
  interval: option(seconds(0.1), "Seconds between checks", { default: "5" }),
});

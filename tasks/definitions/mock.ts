import {
  address,
  integer,
  option,
  positional,
  text,
  variadic,
} from "./options.js";
import {
  at,
  describeTask,
  operation,
  pools,
  timeoutOfTransactions,
} from "./shared.js";

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

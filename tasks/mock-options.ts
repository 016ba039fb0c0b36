import { option, positional, text, variadic } from "./options.js";
import { common, operation, pools } from "./shared-options.js";

const target = {
  pool: option(pools, "Pool of getLPAmountInfo", { default: "both" }),
} as const;

export const nextRoundOptions = {
  ...common,
  terms: variadic(
    text,
    "Terms that differ from the latest round, unscaled: strikePrice=66000e18 endTime=+7d",
  ),
} as const;

export const setOptions = {
  ...common,
  changes: variadic(
    text,
    "Unscaled values by path: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
    { required: true },
  ),
} as const;

export const failOptions = {
  ...common,
  operation,
  reason: positional(text, "Revert reason: a text, or revert data as 0x hex"),
  ...target,
} as const;

export const succeedOptions = { ...common, operation, ...target } as const;

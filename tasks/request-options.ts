import { flag, option, text, variadic } from "./options.js";
import { common, from, operation, pools } from "./shared-options.js";

export const requestOptions = {
  ...common,
  operation,
  args: variadic(text, "Arguments of the operation, unscaled"),
  pool: option(pools, "Pool of getLPAmountInfo (required for it)"),
  from,
  curl: flag("Print a curl command, with the URL in $RPC_URL"),
} as const;

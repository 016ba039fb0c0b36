import { flag, option, text, variadic } from "./options.js";
import { at, describeTask, from, operation, pools } from "./shared.js";

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

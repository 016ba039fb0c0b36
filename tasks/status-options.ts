import { flag, oneOf, option } from "./options.js";
import { ofReads } from "./shared-options.js";

export const statusOptions = {
  ...ofReads,
  all: flag("Show the network's own contracts, then each instance"),
  format: option(
    oneOf(["prometheus"]),
    "Write metrics for a textfile collector",
  ),
} as const;

import { flag, oneOf, option } from "./options.js";
import { describeTask, ofReads } from "./shared.js";

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

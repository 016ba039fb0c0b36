import { fixedBlock, option } from "./options.js";
import { describeTask, ofListings, ofManyReads } from "./shared.js";

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

import { fixedBlock, option } from "./options.js";
import { ofListings, ofManyReads } from "./shared-options.js";

export const roundsOptions = {
  ...ofManyReads,
  block: option(fixedBlock, "Last block to read, as with --to-block"),
  fromBlock: option(fixedBlock, "First block to read", { default: "0" }),
  toBlock: option(fixedBlock, "Last block to read", { default: "latest" }),
  ...ofListings,
} as const;

import { file, flag, ids, option } from "./options.js";
import { describeTask, ofManyReads } from "./shared.js";

export const reportTask = describeTask("Write a self-contained HTML report", {
  ...ofManyReads,
  out: option(file, "File to write", { default: "vault-report.html" }),
  ids: option(ids(10_000), "Orders to show, at most 10,000", {
    default: "none",
  }),
  rounds: flag("Show every round of the vault"),
  simulate: flag("Simulate a settlement, and show its effects"),
});

import { file, fixedBlock, ids, option } from "./options.js";
import { common, timeout } from "./shared-options.js";

export const captureOptions = {
  ...common,
  out: option(file, "File to write, for example fixture.json", {
    required: true,
  }),
  ids: option(ids(10_000), "Orders to record, at most 10,000", {
    default: "none",
  }),
  block: option(fixedBlock, "Block to record", { default: "latest" }),
  timeout,
} as const;

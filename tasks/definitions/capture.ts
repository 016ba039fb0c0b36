import { file, fixedBlock, ids, option, requiredOption } from "./options.js";
import { describeTask, timeout } from "./shared.js";

export const captureTask = describeTask(
  "Record every reading as a fixture for tests",
  {
    out: requiredOption(file, "File to write, for example fixture.json"),
    ids: option(ids(10_000), "Orders to record, at most 10,000", {
      default: "none",
    }),
    block: option(fixedBlock, "Block to record", { default: "latest" }),
    timeout,
  },
);

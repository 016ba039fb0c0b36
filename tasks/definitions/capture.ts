import { file, fixedBlock, ids, option, requiredOption } from "./options.js";
import { at, describeTask, timeout } from "./shared.js";

export const captureTask = describeTask(
  "Record every reading as a fixture for tests",
  {
    at,
    out: requiredOption(file, "File to write, for example fixture.json"),
    ids: option(ids(10_000), "Orders to record, at most 10,000", {
      default: "none",
    }),
    margins: option(
      file,
      'JSON file with terms whose margins to record: [{ "maxVolume": "1000e18", "APY": "0.2e18", "endTime": 1900000000 }]',
      { default: "the terms of the round" },
    ),
    block: option(fixedBlock, "Block to record", { default: "latest" }),
    timeout,
  },
);

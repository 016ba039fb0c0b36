import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";

// test/helpers/sample.ts
if (process.env["SEED"] === "random") {
  process.env["SEED"] = String(randomInt(2 ** 31));
}

export default {
  // The source, as it is written.
  "node-option": ["import=tsx/esm"],
  ignore: ["test/{helpers,fixture-projects,types}/**"],
  // For what hangs, on whatever machine: beside other work at a tenth of the
  // processor, a test takes five minutes; all cases of a long one an hour.
  timeout: process.env["FULL"] === "1" ? 7_200_000 : 1_200_000,
  // Each file starts nodes of its own on free ports.
  parallel: true,
  // Two more than there are processors, since tests wait for nodes.
  jobs: availableParallelism() + 2,
  "forbid-only": process.env["CI"] !== undefined,
  require: ["./test/helpers/worker-hooks.ts"],
  reporter: "./scripts/mocha-reporter.ts",
  // By default, Mocha compares only the first 8,192 characters.
  "reporter-option": ["maxDiffSize=0"],
};

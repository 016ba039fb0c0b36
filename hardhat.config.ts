import { randomInt } from "node:crypto";
import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import path from "node:path";

import hardhatMocha from "@nomicfoundation/hardhat-mocha";
import { defineConfig, overrideTask } from "hardhat/config";

import vault from "./src/index.js";

const { resolve } = createRequire(import.meta.url);

/**
 * They run with `FULL=1`, each night, or where they are named: what they guard seldom
 * breaks, and each starts other programs.
 */
const nightlyTests = [
  "test/consumers/",
  "test/package/documents",
  "test/package/checkers",
  "test/package/editor",
  "test/package/footprint",
  "test/package/setup",
  "test/bench/smoke",
  "test/docs/keeper-examples",
  "test/docs/shell",
  "test/mocks/two-processes",
  "test/tasks/report-page",
  "test/worker-hooks",
];

/** They take longest, and would be waited for if they started last. */
const slowTests = [
  ...nightlyTests,
  "test/tasks/hostile-nodes",
  "test/settlement/fault-matrix",
  "test/simulation/engines",
  "test/settlement/ten-rounds",
  "test/tasks/",
  "test/settlement/",
  "test/simulation/",
  "test/fuzz/",
  "test/bench/",
  "test/client/nodes",
  "test/package/",
  "test/mocks/",
  "test/rpc/",
];

/** Without this, Hardhat would also run helpers and fixtures. */
function testFiles(): string[] {
  const rank = (file: string): number => {
    const found = slowTests.findIndex((start) => file.startsWith(start));
    return found === -1 ? slowTests.length : found;
  };
  return (
    globSync("test/**/*.ts", {
      cwd: import.meta.dirname,
      exclude: ["test/helpers", "test/fixture-projects", "test/types"],
    })
      // On Windows, too, as they are named above.
      .map((file) => file.replaceAll(path.sep, "/"))
      .filter(
        (file) =>
          process.env["FULL"] === "1" ||
          !nightlyTests.some((start) => file.startsWith(start)),
      )
      .sort()
      .sort((left, right) => rank(left) - rank(right))
      .map((file) => path.join(import.meta.dirname, file))
  );
}

const compiler = {
  // The compiler of the npm package: nothing is downloaded. Projects that
  // import the contracts compile them with their own settings.
  version: "0.8.37",
  path: resolve("solc/soljson.js"),
  // The bytecode that is shipped runs on every chain and on forks of any
  // hardfork: newer targets use opcodes that some do not have.
  settings: {
    evmVersion: "paris",
    optimizer: { enabled: true, runs: 1_000 },
  },
};

export default defineConfig({
  plugins: [vault, hardhatMocha],
  // By default, every .sol file below test/, those of fixture projects too.
  paths: { tests: { solidity: "test/solidity" } },
  solidity: {
    compilers: [compiler],
    overrides: {
      // Its code decides its address, which must be the same for everybody. Without
      // this, it ends with a hash of paths and comments.
      "contracts/guard/RoundGuard.sol": {
        ...compiler,
        settings: { ...compiler.settings, metadata: { appendCBOR: false } },
      },
    },
  },
  networks: {
    // The amounts of the mocks' scenarios have 18 decimals.
    default: { type: "edr-simulated", vault: { tokenDecimals: 18 } },
    localhost: {
      type: "http",
      url: "http://127.0.0.1:8545",
      vault: { tokenDecimals: 18 },
    },
  },
  test: {
    mocha: {
      // For what hangs, on whatever machine: beside other work at a tenth of the
      // processor, a test takes five minutes; all cases of a long one an hour.
      timeout: process.env["FULL"] === "1" ? 7_200_000 : 1_200_000,
      // Each file starts nodes of its own on free ports.
      parallel: true,
      // Two more than there are processors, since tests wait for nodes.
      jobs: availableParallelism() + 2,
      forbidOnly: process.env.CI !== undefined,
      require: [resolve("./test/helpers/worker-hooks.ts")],
      reporter: resolve("./scripts/mocha-reporter.ts"),
      // By default, Mocha compares only the first 8,192 characters.
      reporterOptions: { maxDiffSize: "0" },
    },
  },
  tasks: [
    overrideTask(["test", "mocha"])
      .setInlineAction(async (args, _hre, runSuper) => {
        // Workers load the files that they run. Hardhat would first load all of them
        // in this process, too: twenty seconds of a processor, and 700 MB.
        const { default: Mocha } = await import("mocha");
        Mocha.prototype.loadFilesAsync = async () => {
          await Promise.resolve();
        };
        // test/helpers/sample.ts
        if (process.env["SEED"] === "random") {
          process.env["SEED"] = String(randomInt(2 ** 31));
        }
        const given: unknown = args.testFiles;
        const result: unknown = await runSuper(
          Array.isArray(given) && given.length > 0
            ? args
            : { ...args, testFiles: testFiles() },
        );
        return result;
      })
      .build(),
  ],
});

// @ts-check
/**
 * Runs Stryker. `--changed` mutates only the files that differ from where this branch
 * left `main`, uncommitted and new ones among them.
 */
import { execSync, spawnSync } from "node:child_process";

const configuration = "scripts/mutation/stryker.config.json";
let args = process.argv.slice(2);
if (args.includes("--changed")) {
  const base = execSync("git merge-base main HEAD || echo HEAD").toString();
  const files = execSync(
    `git diff --name-only --diff-filter=d ${base.trim()}; git ls-files --others --exclude-standard`,
  ).toString();
  const mutate = files
    .split("\n")
    .filter((file) => /^(src|tasks)\/.*\.ts$/u.test(file));
  args = args.filter((each) => each !== "--changed");
  if (mutate.length === 0) {
    console.log("No file of src or tasks is changed.");
    process.exit();
  }
  args.push("--mutate", mutate.join(","));
}
const { status } = spawnSync(
  process.execPath,
  [
    ...["--import", "./scripts/mutation/resolve-cjs.mjs"],
    "node_modules/@stryker-mutator/core/bin/stryker.js",
    ...["run", configuration, ...args],
  ],
  { stdio: "inherit" },
);
process.exitCode = status ?? 1;

// @ts-check
/**
 * Runs Stryker. `--changed` mutates only the files that differ from where this branch
 * left `main`, uncommitted and new ones among them.
 */
import { execSync, spawnSync } from "node:child_process";

const args = process.argv.slice(2);
const at = args.indexOf("--changed");
if (at !== -1) {
  const files = execSync(
    "git diff --name-only --diff-filter=d $(git merge-base main HEAD || echo HEAD); git ls-files --others --exclude-standard",
  ).toString();
  const mutate = files.match(/^(src|tasks)\/.*\.ts$/gmu) ?? process.exit();
  args.splice(at, 1, "--mutate", mutate.join(","));
}
const stryker = "node_modules/@stryker-mutator/core/bin/stryker.js";
process.exitCode =
  spawnSync(
    process.execPath,
    [
      ...["--import", "./scripts/mutation/resolve-cjs.mjs", stryker],
      ...["run", "scripts/mutation/stryker.config.json", ...args],
    ],
    { stdio: "inherit" },
  ).status ?? 1;

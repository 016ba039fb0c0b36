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
// A third of all packages that this project would install, for a run now and then.
const packages = [
  "@stryker-mutator/core@10.0.0",
  "@stryker-mutator/mocha-runner@10.0.0",
  // Stryker reads tsconfig.json with it. npx installs no version that the project has.
  "typescript@5",
].map((name) => `--package=${name}`);
const stryker = ["stryker", "run", "scripts/mutation/stryker.config.json"];
const resolveCjs = new URL("resolve-cjs.mjs", import.meta.url);
process.exitCode =
  spawnSync("npx", ["--yes", ...packages, "--", ...stryker, ...args], {
    stdio: "inherit",
    env: {
      ...process.env,
      NODE_OPTIONS: `--import=${resolveCjs.href}`,
    },
  }).status ?? 1;

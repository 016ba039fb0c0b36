/** Runs each test file in a run of its own: none may need what another one left. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

const files = globSync("test/**/*.ts", {
  exclude: ["test/helpers", "test/fixture-projects", "test/types"],
}).sort();

const failed = files.filter((file) => {
  const { status, stdout } = spawnSync(
    process.execPath,
    ["node_modules/mocha/bin/mocha.js", file],
    { encoding: "utf8" },
  );
  if (status !== 0) {
    console.log(`${file}:\n${stdout}`);
  }
  return status !== 0;
});
console.log(
  `${files.length - failed.length} of ${files.length} test files pass alone`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

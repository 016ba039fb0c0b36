// @ts-check
/**
 * Writes the version of package.json into the pages and examples that name it.
 * `npm run release:version` runs it; test/package/version.ts compares.
 */
import { readFileSync, writeFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** @type {(file: string, pattern: RegExp, text: string) => void} */
function rewrite(file, pattern, text) {
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(pattern, text));
}

rewrite(
  "README.md",
  /hardhat-vault-\d+\.\d+\.\d+\.tgz/gu,
  `hardhat-vault-${version}.tgz`,
);
rewrite("README.md", /version \d+\.\d+\.\d+/gu, `version ${version}`);
for (const example of ["contract-tests", "fork-in-ci", "keeper"]) {
  rewrite(
    `examples/${example}/package.json`,
    /"hardhat-vault": "[^"]*"/gu,
    `"hardhat-vault": "^${version}"`,
  );
}

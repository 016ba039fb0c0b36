import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { fieldsOf } from "../helpers/fields.js";

describe("the version", () => {
  for (const file of [
    "README.md",
    "examples/contract-tests/package.json",
    "examples/fork-in-ci/package.json",
    "examples/keeper/package.json",
  ]) {
    it(`${file} names the version of package.json and no other`, async () => {
      const read = async (name: string): Promise<string> =>
        await readFile(path.join(repositoryRoot, name), "utf8");
      const { version } = fieldsOf(JSON.parse(await read("package.json")));
      const named = (await read(file)).matchAll(
        /(?:hardhat-vault-|version |"hardhat-vault": "\^?)(\d+\.\d+\.\d+)/gu,
      );
      expect([...new Set([...named].map(([, found]) => found))]).to.deep.equal([
        version,
      ]);
    });
  }
});

import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";

import { expect } from "chai";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { runCommand } from "../helpers/consumers/run-command.js";

/** README, CONTRIBUTING and the pages of `docs/`, without code of users. */
async function readDocuments(): Promise<ReadonlyArray<readonly string[]>> {
  const files = await Array.fromAsync(
    glob("{README,CONTRIBUTING,docs/*}.md", { cwd: repositoryRoot }),
  );
  return await Promise.all(
    files.map(async (file) => [
      file,
      (await readFile(file, "utf8")).replaceAll(
        /^```(?:ts|solidity)\n.*?^```$/gmsu,
        "",
      ),
    ]),
  );
}

describe("tests that the documents name", () => {
  it("each path of a test in README, CONTRIBUTING and docs exists", async () => {
    const missing: string[] = [];
    let found = 0;
    for (const [file, text = ""] of await readDocuments()) {
      for (const [name] of text.matchAll(/(?<![\w/])test\/[\w./-]*\w/gu)) {
        found += 1;
        if (!existsSync(name)) {
          missing.push(`${file}: ${name}`);
        }
      }
    }
    expect(missing).to.deep.equal([]);
    expect(found).to.be.above(50);
  });

  it("each --grep in README, CONTRIBUTING and docs selects a test of its file", async () => {
    const examples = (await readDocuments()).flatMap(([, text = ""]) => [
      ...text.matchAll(/--grep "([^"]+)" (test\/\S+\.ts)/gu),
    ]);
    expect(examples).to.have.lengthOf.above(0);
    for (const [, pattern = "", file = ""] of examples) {
      const stdout = await runCommand(
        process.execPath,
        [
          ...["--import", "tsx", "node_modules/mocha/bin/mocha.js"],
          ...["--dry-run", "--exit", "--grep", pattern, file],
        ],
        { cwd: repositoryRoot },
      );
      expect(stdout, pattern).to.match(/^ +[1-9]\d* passing/mu);
    }
  });
});

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { expect } from "chai";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs the files in two workers of Mocha, and returns what it prints. */
async function runInTwoWorkers(files: readonly string[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "rejections-"));
  try {
    const paths = files.map((_, index) => path.join(folder, `${index}.mjs`));
    await Promise.all(
      paths.map(async (file, index) => {
        await writeFile(file, files[index] ?? "");
      }),
    );
    const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
    const hook = path.join(root, "test/helpers/worker-hooks.ts");
    const options = ["--parallel", "--jobs", "2", "--require", hook];
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        ["--import", "tsx", mocha, ...options, ...paths],
        { cwd: root },
        (_error, stdout) => {
          resolve(stdout);
        },
      );
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("a promise that is rejected and never awaited", () => {
  it("fails its test also in a file that comes after others in its worker", async () => {
    const good = 'it("passes", () => {});';
    const bad =
      'it("rejects", async () => { Promise.reject(new Error("nobody waits")); await new Promise(setImmediate); });';
    // Each worker begins with one of the first two files.
    const printed = await runInTwoWorkers([good, good, bad]);
    expect(printed).to.include("Error: nobody waits");
  });
});

describe("a failure that compares a number with a bigint", () => {
  it("is reported, with the other tests of its file, by a worker that sends it as JSON", async () => {
    const good = 'it("passes", () => {});';
    const chai = JSON.stringify(import.meta.resolve("chai"));
    const bad = `import { expect } from ${chai}; it("fails", () => { expect(1).to.equal(2n); }); it("is kept", () => {});`;
    const printed = await runInTwoWorkers([good, bad]);
    expect(printed)
      .to.include("2 passing")
      .and.to.include("expected 1 to equal 2n");
  });
});

describe("a test that is only for POSIX", () => {
  it("is registered also in a file that comes after others in its worker", async () => {
    const helper = new URL("../helpers/posix.ts", import.meta.url);
    const file = `import { itOnPosix } from ${JSON.stringify(helper)}; itOnPosix("is listed", () => {});`;
    const printed = await runInTwoWorkers([file, file, file, file]);
    expect(printed).to.match(/4 (?:passing|pending)/u);
  });
});

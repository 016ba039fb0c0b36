import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { runHardhat } from "../helpers/cli.js";

const root = path.resolve(import.meta.dirname, "../..");

describe("RoundGuard", () => {
  it("passes all of its Solidity tests", async () => {
    const sources = await Promise.all(
      ["RoundGuard.t.sol", "RoundGuardTokens.t.sol"].map(
        async (file) =>
          await readFile(path.join(root, "test/solidity", file), "utf8"),
      ),
    );
    const tests = sources.join("").match(/function test/gu) ?? [];
    const { stdout, stderr, exitCode } = await runHardhat(
      ["test", "solidity", "--no-compile"],
      { cwd: root },
    );
    expect(exitCode, stdout + stderr).to.equal(0);
    expect(stdout).to.contain(`${tests.length} passing`);
  });
});

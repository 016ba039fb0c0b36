import { spawnSync } from "node:child_process";
import path from "node:path";

import { expect } from "chai";

describe("npm run bench", () => {
  it("--only with a word that no benchmark has in its name lists the names, and exits with 1", () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--import", "tsx", "bench/run.ts", "--only", "startup"],
      { cwd: path.resolve(import.meta.dirname, "../.."), encoding: "utf8" },
    );
    expect(stderr).to.match(/No benchmark is named startup\..*start-up/u);
    expect(stdout).to.equal("");
    expect(status).to.equal(1);
  });
});

import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { startAnvil } from "../helpers/anvil.js";
import { runHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";

/** All that a task may write. */
const runs = [
  ["deploy-mocks", {}],
  ["status", {}],
  ["orders", { ids: "1-3", out: "orders.csv" }],
  ["capture", { out: "fixture.json", ids: "1-3" }],
  ["simulate", {}],
  ["simulate", { fork: true }],
  ["settle", { yes: true }],
];

describe("footprint of the package", () => {
  it("tasks write nothing outside the project", async () => {
    const outside = await mkdtemp(
      path.join(tmpdir(), "hardhat-vault-outside-"),
    );
    const home = path.join(outside, "home");
    const temporary = path.join(outside, "tmp");
    await mkdir(home);
    await mkdir(temporary);
    const project = await useFixtureProject("plain");
    const anvil = await startAnvil();
    try {
      const { exitCode, stdout, stderr } = await runHardhat(
        ["run", "--no-compile", "every-task.ts", "--network", "test"],
        {
          cwd: project.path,
          env: {
            TEST_URL: anvil.url,
            TEST_RUNS: JSON.stringify(runs),
            HOME: home,
            XDG_CACHE_HOME: path.join(home, ".cache"),
            XDG_CONFIG_HOME: path.join(home, ".config"),
            XDG_DATA_HOME: path.join(home, ".local/share"),
            TMPDIR: temporary,
          },
        },
      );
      expect(exitCode, stdout + stderr).to.equal(0);
      const written = await readdir(outside, {
        recursive: true,
        withFileTypes: true,
      });
      const files = written
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        // Hardhat's own: telemetry consent and the like; tsx's cache of sources.
        .filter((file) => !/\/hardhat-nodejs\/|\/tsx-\d+\//u.test(file));
      expect(files).to.deep.equal([]);
      const ends = await readFile(path.join(project.path, "ends"), "utf8");
      expect(ends.match(/: true$/gmu)).to.have.lengthOf(runs.length);
      expect(await readdir(project.path)).to.have.members([
        ...["hardhat.config.ts", "package.json", "every-task.ts", "ends"],
        ...["orders.csv", "fixture.json", "vault-deployments"],
      ]);
    } finally {
      await anvil.stop();
      await project.remove();
      await rm(outside, { recursive: true });
    }
  });
});

import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import hardhatEthers from "@nomicfoundation/hardhat-ethers";
import { expect } from "chai";
import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import type { HardhatUserConfig } from "hardhat/types/config";

import vault from "../../src/index.js";
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

  it("the plugin leaves the user's configuration as it is", async () => {
    const userConfig: HardhatUserConfig = {
      networks: {
        default: { type: "http", url: "http://127.0.0.1:1" },
        mine: { type: "edr-simulated", chainId: 7, hardfork: "prague" },
      },
      solidity: "0.8.28",
      paths: { sources: "my-contracts" },
    };
    const plugins = [hardhatEthers, vault];
    expect(await resolve({ ...userConfig, plugins })).to.deep.equal(
      await resolve({ ...userConfig, plugins: [hardhatEthers] }),
    );
  });
});

/** The resolved configuration without what this plugin adds to it. */
async function resolve(userConfig: HardhatUserConfig): Promise<unknown> {
  const { config } = await createHardhatRuntimeEnvironment(userConfig);
  const { vaultFork: _ours, ...networks } = config.networks;
  // A network in process starts at the time of its configuration.
  const differing = ["plugins", "vault", "initialDate"];
  // Functions and the like do not compare.
  return JSON.parse(
    JSON.stringify({ ...config, networks }, (key, value: unknown) =>
      differing.includes(key)
        ? undefined
        : typeof value === "bigint"
          ? value.toString()
          : value instanceof Map
            ? [...value]
            : value,
    ),
  );
}

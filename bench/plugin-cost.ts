import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { runHardhat } from "../test/helpers/cli.js";
import { median, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const root = path.dirname(import.meta.dirname);

const builtPlugin = path.join(root, "dist/index.js");

/** As in the README: there is something to check at every start. */
const settings = `{
    live: {
      type: "http",
      url: "http://127.0.0.1:8545",
      vault: { contracts: { vault: "0x${"11".repeat(20)}" }, tokenDecimals: 18 },
    },
  }`;

const commands = { "hardhat --help": ["--help"], "hardhat build": ["build"] };

/** Starts Hardhat in a project with the plugin and in one without. */
export async function benchPluginCost({ starts }: Extent): Promise<Section> {
  await mkdir(path.join(root, "cache"), { recursive: true });
  const folder = await mkdtemp(path.join(root, "cache", "plugin-cost-"));
  try {
    const plain = await createProject(folder, "plain");
    const projects = {
      "hardhat-ethers alone": await createProject(folder, "hardhat-ethers", {
        plugin: "@nomicfoundation/hardhat-ethers",
      }),
      "hardhat-vault": await createProject(folder, "hardhat-vault", {
        plugin: builtPlugin,
      }),
      "with settings of a network": await createProject(folder, "settings", {
        plugin: builtPlugin,
        networks: settings,
      }),
    };
    await assertTasks(plain, false);
    await assertTasks(projects["hardhat-ethers alone"], false);
    await assertTasks(projects["hardhat-vault"], true);
    await assertTasks(projects["with settings of a network"], true);
    const rows: Array<Record<string, string | number>> = [];
    const targets: Array<Section["targets"][number]> = [];
    for (const [name, args] of Object.entries(commands)) {
      const start = (cwd: string) => async (): Promise<void> => {
        await startIn(cwd, args);
      };
      const times = await runInTurns(
        [
          { name: "without", run: start(plain) },
          ...Object.entries(projects).map(([project, cwd]) => ({
            name: project,
            run: start(cwd),
          })),
        ],
        starts,
      );
      const without = times["without"] ?? [];
      const added = (project: string): number =>
        median(
          (times[project] ?? []).map(
            (time, index) => time - (without[index] ?? Number.NaN),
          ),
        );
      rows.push(
        {
          command: name,
          with: "no plugin",
          ms: round(median(without)),
          "added (paired), ms": "",
        },
        ...Object.keys(projects).map((project) => ({
          command: name,
          with: project,
          ms: round(median(times[project] ?? [])),
          "added (paired), ms": round(added(project)),
        })),
      );
      targets.push(
        target(`added to ${name}`, added("hardhat-vault"), "at most", 15, "ms"),
      );
    }
    return { title: "What the plugin adds to Hardhat's start", rows, targets };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @returns What it printed. */
async function startIn(cwd: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runHardhat(
    // By name, since Hardhat would look for one in the folders above as well.
    ["--config", "hardhat.config.ts", ...args],
    // As users have it: tests share a cache of compiled modules.
    { cwd, env: { NODE_DISABLE_COMPILE_CACHE: "1" } },
  );
  if (exitCode !== 0) {
    throw new Error(stderr);
  }
  return stdout;
}

/** Is it the project that is meant? */
async function assertTasks(project: string, wanted: boolean): Promise<void> {
  const help = await startIn(project, ["--help"]);
  if (help.includes("vault settle") !== wanted) {
    throw new Error(
      `${path.basename(project)}: the vault tasks are ${wanted ? "missing" : "there"}`,
    );
  }
}

async function createProject(
  folder: string,
  name: string,
  { plugin, networks = "{}" }: { plugin?: string; networks?: string } = {},
): Promise<string> {
  const project = path.join(folder, name);
  await mkdir(path.join(project, "contracts"), { recursive: true });
  await writeFile(
    path.join(project, "package.json"),
    JSON.stringify({ name, type: "module" }),
  );
  await writeFile(
    path.join(project, "hardhat.config.ts"),
    `${plugin === undefined ? "" : `import plugin from ${JSON.stringify(plugin)};\n`}import { defineConfig } from "hardhat/config";
import { createRequire } from "node:module";
export default defineConfig({
  plugins: [${plugin === undefined ? "" : "plugin"}],
  networks: ${networks},
  solidity: {
    version: "0.8.37",
    path: createRequire(import.meta.url).resolve("solc/soljson.js"),
  },
});
`,
  );
  await writeFile(
    path.join(project, "contracts", "Empty.sol"),
    "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.20;\ncontract Empty {}\n",
  );
  return project;
}

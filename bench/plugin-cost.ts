import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { runHardhat } from "../test/helpers/cli.js";
import { median, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const root = path.dirname(import.meta.dirname);

const commands = { "hardhat --help": ["--help"], "hardhat build": ["build"] };

/** Starts Hardhat in a project with the plugin and in one without. */
export async function benchPluginCost({ starts }: Extent): Promise<Section> {
  await mkdir(path.join(root, "cache"), { recursive: true });
  const folder = await mkdtemp(path.join(root, "cache", "plugin-cost-"));
  try {
    const plain = await createProject(folder, "plain", "");
    const withPlugin = await createProject(
      folder,
      "with-plugin",
      `import vault from ${JSON.stringify(path.join(root, "dist/src/index.js"))};\n`,
    );
    await assertTasks(plain, false);
    await assertTasks(withPlugin, true);
    const rows: Array<Record<string, string | number>> = [];
    const targets: Array<Section["targets"][number]> = [];
    for (const [name, args] of Object.entries(commands)) {
      const start = (cwd: string) => async (): Promise<void> => {
        await startIn(cwd, args);
      };
      const times = await runInTurns(
        [
          { name: "without", run: start(plain) },
          { name: "with", run: start(withPlugin) },
        ],
        starts,
      );
      const without = times["without"] ?? [];
      const added = median(
        (times["with"] ?? []).map(
          (time, index) => time - (without[index] ?? Number.NaN),
        ),
      );
      rows.push({
        command: name,
        "without, ms": round(median(without)),
        "with, ms": round(median(times["with"] ?? [])),
        "added (paired), ms": round(added),
      });
      targets.push(target(`added to ${name}`, added, "at most", 15, "ms"));
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
  pluginImport: string,
): Promise<string> {
  const project = path.join(folder, name);
  await mkdir(path.join(project, "contracts"), { recursive: true });
  await writeFile(
    path.join(project, "package.json"),
    JSON.stringify({ name, type: "module" }),
  );
  await writeFile(
    path.join(project, "hardhat.config.ts"),
    `${pluginImport}import { defineConfig } from "hardhat/config";
import { createRequire } from "node:module";
export default defineConfig({
  plugins: [${pluginImport === "" ? "" : "vault"}],
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

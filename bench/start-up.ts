import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { runHardhat } from "../test/helpers/cli.js";
import { builtPlugin, root } from "./built-plugin.js";
import { differences, ratios, runInTurns } from "./measure.js";
import type { Extent, Figure } from "./measure.js";
import { onAnvil } from "./on-anvil.js";

/** Two starts differ by more than a plugin adds. */
const STARTS_EACH = 20;
/** Starts that also read a value. */
const READS_EACH = 8;

const ETHERS = "@nomicfoundation/hardhat-ethers";

/** The least that somebody asks a node, with hardhat-ethers. */
const SCRIPT = `import { network } from "hardhat";
const { ethers } = await network.create("live");
console.log(await ethers.provider.send("eth_blockNumber", []));
`;

const PLAIN = "no plugin";
const WITH_ETHERS = "hardhat-ethers alone";
const OURS = "hardhat-vault";
const WITH_SETTINGS = "with settings of a network";

/**
 * Starts Hardhat in projects with the plugin and without: `hardhat --help`, and one value
 * read, by a script and by our task.
 */
export async function benchStartUp({
  rounds,
}: Extent): Promise<readonly Figure[]> {
  return await inProjects(async (startIn) => {
    const helpIn = (project: string, hasTasks: boolean) => async () => {
      const help = await startIn(project, ["--help"]);
      if (help.includes("vault settle") !== hasTasks) {
        throw new Error(`${project}: not the project that is meant`);
      }
    };
    const help = await runInTurns(
      {
        [PLAIN]: helpIn(PLAIN, false),
        [WITH_ETHERS]: helpIn(WITH_ETHERS, false),
        [OURS]: helpIn(OURS, true),
        [WITH_SETTINGS]: helpIn(WITH_SETTINGS, true),
      },
      rounds * STARTS_EACH,
    );
    const value = await runInTurns(
      {
        script: async () =>
          await startIn(WITH_ETHERS, ["run", "--no-compile", "script.ts"]),
        task: async () =>
          await startIn(WITH_SETTINGS, ["vault", "round", "--network", "live"]),
      },
      rounds * READS_EACH,
    );
    const added = "added to `hardhat --help`";
    return [
      { name: "`hardhat --help` without a plugin: ms", values: help[PLAIN] },
      {
        name: `${added} by hardhat-ethers, which ours needs: ms`,
        values: differences(help[WITH_ETHERS], help[PLAIN]),
      },
      {
        name: `${added} by both: ms`,
        values: differences(help[OURS], help[PLAIN]),
        goal: { demand: "at most", limit: 25 },
      },
      {
        name: `${added} by both, with settings of a network: ms`,
        values: differences(help[WITH_SETTINGS], help[PLAIN]),
      },
      { name: "`hardhat vault round`: ms", values: value.task },
      {
        name: "`hardhat vault round`: times a script with hardhat-ethers that asks once",
        values: ratios(value.task, value.script),
      },
    ];
  });
}

type StartIn = (project: string, args: readonly string[]) => Promise<string>;

/** Makes projects that have the plugin and others, beside a node with a vault. */
async function inProjects(
  measure: (startIn: StartIn) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  await mkdir(path.join(root, "cache"), { recursive: true });
  const folder = await mkdtemp(path.join(root, "cache", "plugin-cost-"));
  try {
    return await onAnvil(async ({ url, connection }) => {
      const { addresses } = await connection.vault.deployMocks();
      const live = { type: "http", url };
      const vault = { contracts: addresses, tokenDecimals: 18 };
      const projects: Readonly<Record<string, string>> = {
        [PLAIN]: await createProject(folder, "plain"),
        [WITH_ETHERS]: await createProject(folder, "ethers", {
          plugin: ETHERS,
          networks: { live },
        }),
        [OURS]: await createProject(folder, "vault", { plugin: builtPlugin }),
        // As in the README: there is something to check at every start.
        [WITH_SETTINGS]: await createProject(folder, "settings", {
          plugin: builtPlugin,
          networks: { live: { ...live, vault } },
        }),
      };
      return await measure(
        async (project, args) =>
          await startHardhat(projects[project] ?? "", args),
      );
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @returns What it printed. */
async function startHardhat(
  cwd: string,
  args: readonly string[],
): Promise<string> {
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

async function createProject(
  folder: string,
  name: string,
  { plugin, networks = {} }: { plugin?: string; networks?: object } = {},
): Promise<string> {
  const project = path.join(folder, name);
  const [statement, plugins] =
    plugin === undefined
      ? ["", ""]
      : [`import plugin from ${JSON.stringify(plugin)};\n`, "plugin"];
  const files = {
    "package.json": JSON.stringify({ name, type: "module" }),
    "hardhat.config.ts": `${statement}import { defineConfig } from "hardhat/config";
export default defineConfig({
  plugins: [${plugins}],
  networks: ${JSON.stringify(networks)},
});
`,
    "script.ts": SCRIPT,
  };
  await mkdir(project);
  for (const [file, text] of Object.entries(files)) {
    await writeFile(path.join(project, file), text);
  }
  return project;
}

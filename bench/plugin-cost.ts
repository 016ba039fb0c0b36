import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { runHardhat } from "../test/helpers/cli.js";
import {
  medianDifference,
  medianRatio,
  rowsOf,
  runInTurns,
  target,
} from "./measure.js";
import type { Extent, Section } from "./measure.js";
import { onAnvil } from "./on-anvil.js";

const root = path.dirname(import.meta.dirname);

const builtPlugin = path.join(root, "dist/index.js");

/** Starts take a second, and differ by a tenth of it. */
const ROUNDS_EACH = 8;

const ETHERS = "@nomicfoundation/hardhat-ethers";

/** Prints how long the first connection takes: the simulator, in process. */
const connectScript = `import { network } from "hardhat";
const start = performance.now();
await network.create();
console.log(performance.now() - start);
process.exit();
`;

/** The least that somebody with hardhat-ethers asks a node. */
const requestScript = `import { network } from "hardhat";
const { ethers } = await network.create("live");
console.log(await ethers.provider.getBlockNumber());
`;

const PLAIN = "no plugin";
const WITH_ETHERS = "hardhat-ethers alone";
const OURS = "hardhat-vault";
const WITH_SETTINGS = "with settings of a network";

/** Starts `hardhat --help` in projects with the plugin and without. */
export async function benchHelp({ rounds }: Extent): Promise<Section> {
  return await inProjects(async (startIn) => {
    const helpIn = (project: string, hasTasks: boolean) => async () => {
      const help = await startIn(project, ["--help"]);
      if (help.includes("vault settle") !== hasTasks) {
        throw new Error(`${project}: not the project that is meant`);
      }
    };
    const times = await runInTurns(
      {
        [PLAIN]: helpIn(PLAIN, false),
        [WITH_ETHERS]: helpIn(WITH_ETHERS, false),
        [OURS]: helpIn(OURS, true),
        [WITH_SETTINGS]: helpIn(WITH_SETTINGS, true),
      },
      rounds * ROUNDS_EACH,
    );
    const added = (own: readonly number[]): number =>
      medianDifference(own, times[PLAIN]);
    return {
      title: "Added to `hardhat --help`",
      rows: rowsOf(times, { "added (paired), ms": added }),
      targets: [
        target(OURS, added(times[OURS]), "at most", 12, "ms"),
        target(WITH_SETTINGS, added(times[WITH_SETTINGS]), "at most", 25, "ms"),
      ],
    };
  });
}

/** Opens the first connection, with hardhat-ethers and with the plugin. */
export async function benchFirstConnection({
  rounds,
}: Extent): Promise<Section> {
  return await inProjects(async (startIn) => {
    const connectIn = (project: string) => async () =>
      await startIn(project, ["run", "--no-compile", "connect.ts"]);
    const times = await runInTurns(
      { [WITH_ETHERS]: connectIn(WITH_ETHERS), [OURS]: connectIn(OURS) },
      rounds * ROUNDS_EACH,
      // The script's own measurement, without Hardhat's start.
      async (run) => Number(await run()),
    );
    const added = (own: readonly number[]): number =>
      medianDifference(own, times[WITH_ETHERS]);
    return {
      title: "Added to `network.create()`",
      rows: rowsOf(times, { "added (paired), ms": added }),
      targets: [target(OURS, added(times[OURS]), "at most", 10, "ms")],
    };
  });
}

/** Reads one value from the command line, with a script and with our task. */
export async function benchRoundTask({ rounds }: Extent): Promise<Section> {
  return await inProjects(async (startIn) => {
    const script = "hardhat run, hardhat-ethers, one request";
    const task = "hardhat vault round";
    const times = await runInTurns(
      {
        [script]: async () =>
          await startIn(WITH_ETHERS, ["run", "--no-compile", "request.ts"]),
        [task]: async () =>
          await startIn(WITH_SETTINGS, ["vault", "round", "--network", "live"]),
      },
      rounds * ROUNDS_EACH,
    );
    const ratio = (own: readonly number[]): number =>
      medianRatio(own, times[script]);
    return {
      title: "One value from the command line, anvil",
      rows: rowsOf(times, { "times the script (paired)": ratio }),
      targets: [target(task, ratio(times[task]), "at most", 1.05, "x")],
    };
  });
}

type StartIn = (project: string, args: readonly string[]) => Promise<string>;

/** Makes projects that have the plugin and others, beside a node with a vault. */
async function inProjects(
  measure: (startIn: StartIn) => Promise<Section>,
): Promise<Section> {
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
    "connect.ts": connectScript,
    "request.ts": requestScript,
  };
  await mkdir(project);
  for (const [file, text] of Object.entries(files)) {
    await writeFile(path.join(project, file), text);
  }
  return project;
}

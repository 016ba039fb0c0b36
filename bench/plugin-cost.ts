import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { keysOf } from "../src/protocol/keys-of.js";
import { startAnvil } from "../test/helpers/anvil.js";
import { runHardhat } from "../test/helpers/cli.js";
import {
  deployProtocol,
  directProvider,
} from "../test/helpers/mock-protocol.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const root = path.dirname(import.meta.dirname);

const builtPlugin = path.join(root, "dist/index.js");

const commands = {
  "hardhat --help": ["--help"],
  "hardhat build": ["build"],
} as const;

/** Milliseconds that the plugin may add, by command and project. */
const limits = {
  "hardhat --help": { "hardhat-vault": 12, "with settings of a network": 25 },
  "hardhat build": { "hardhat-vault": 25 },
} as const;

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

/** Runs Hardhat in projects with the plugin and without. */
export async function benchPluginCost({ starts }: Extent): Promise<Section[]> {
  await mkdir(path.join(root, "cache"), { recursive: true });
  const folder = await mkdtemp(path.join(root, "cache", "plugin-cost-"));
  const node = await startAnvil();
  try {
    const provider = directProvider(node.url);
    const { contracts } = await deployProtocol(await provider.getSigner());
    provider.destroy();
    const settings = (vault: string): string =>
      `{ live: { type: "http", url: ${JSON.stringify(node.url)}${vault} } }`;
    const projects = {
      "no plugin": await createProject(folder, "plain"),
      "hardhat-ethers alone": await createProject(folder, "hardhat-ethers", {
        plugin: ETHERS,
        networks: settings(""),
      }),
      "hardhat-vault": await createProject(folder, "hardhat-vault", {
        plugin: builtPlugin,
      }),
      // As in the README: there is something to check at every start.
      "with settings of a network": await createProject(folder, "settings", {
        plugin: builtPlugin,
        networks: settings(
          `, vault: ${JSON.stringify({ contracts, tokenDecimals: 18 })}`,
        ),
      }),
    };
    return [
      await benchStart(projects, starts),
      await benchFirstConnection(projects, starts),
      await benchOneReading(projects, starts),
    ];
  } finally {
    await node.stop();
    await rm(folder, { recursive: true });
  }
}

type Projects = Readonly<
  Record<
    | "no plugin"
    | "hardhat-ethers alone"
    | "hardhat-vault"
    | "with settings of a network",
    string
  >
>;

async function benchStart(
  projects: Projects,
  starts: number,
): Promise<Section> {
  const rows: Array<Record<string, string | number>> = [];
  const targets: Array<Section["targets"][number]> = [];
  // Without rounds, one shows as much as both.
  const measured = keysOf(commands).slice(0, starts === 0 ? 1 : 2);
  for (const name of measured) {
    const times = await runInTurns(
      Object.entries(projects).map(([project, cwd]) => ({
        name: project,
        run: async () => await startIn(cwd, commands[name]),
      })),
      starts,
      name === "hardhat --help" ? assertTasks : undefined,
    );
    const added = addedTo(times["no plugin"] ?? []);
    for (const [project, ms] of Object.entries(times)) {
      rows.push({
        command: name,
        with: project,
        ms: round(median(ms)),
        "added (paired), ms": project === "no plugin" ? "" : round(added(ms)),
      });
    }
    for (const [project, limit] of Object.entries(limits[name])) {
      targets.push(
        target(
          `added to ${name}, ${project}`,
          added(times[project] ?? []),
          "at most",
          limit,
          "ms",
        ),
      );
    }
  }
  return { title: "What the plugin adds to Hardhat's start", rows, targets };
}

async function benchFirstConnection(
  projects: Projects,
  starts: number,
): Promise<Section> {
  const compared = ["hardhat-ethers alone", "hardhat-vault"] as const;
  const times: Record<(typeof compared)[number], number[]> = {
    "hardhat-ethers alone": [],
    "hardhat-vault": [],
  };
  await runInTurns(
    compared.map((name) => ({
      name,
      run: async () => {
        const printed = await startIn(projects[name], [
          ...["run", "--no-compile", "connect.ts"],
        ]);
        times[name].push(Number(printed));
      },
    })),
    starts,
  );
  // The first is the warm-up, which has to do where there is nothing else.
  const counted = (name: (typeof compared)[number]): readonly number[] =>
    times[name].slice(Math.min(1, starts));
  const added = addedTo(counted("hardhat-ethers alone"))(
    counted("hardhat-vault"),
  );
  return {
    title: "What the plugin adds to the first connection",
    rows: compared.map((name) => ({
      with: name,
      "network.create(), ms": round(median(counted(name))),
      "added (paired), ms": name === "hardhat-vault" ? round(added) : "",
    })),
    targets: [target("added to network.create()", added, "at most", 10, "ms")],
  };
}

async function benchOneReading(
  projects: Projects,
  starts: number,
): Promise<Section> {
  const script = "hardhat run, hardhat-ethers, one request";
  const task = "hardhat vault round";
  const times = await runInTurns(
    [
      {
        name: script,
        run: async () => {
          await startIn(projects["hardhat-ethers alone"], [
            ...["run", "--no-compile", "request.ts"],
          ]);
        },
      },
      {
        name: task,
        run: async () => {
          await startIn(projects["with settings of a network"], [
            ...["vault", "round", "--network", "live"],
          ]);
        },
      },
    ],
    starts,
  );
  const ratio = medianRatio(times[task] ?? [], times[script] ?? []);
  return {
    title: "One reading from the command line, anvil",
    rows: [script, task].map((name) => ({
      command: name,
      ms: round(median(times[name] ?? [])),
      "times the script (paired)": name === task ? round(ratio) : "",
    })),
    targets: [target(`${task}, times a script`, ratio, "at most", 1.05, "x")],
  };
}

/** The median of how much longer others took, round by round. */
function addedTo(
  base: readonly number[],
): (times: readonly number[]) => number {
  return (times) =>
    median(times.map((time, turn) => time - (base[turn] ?? Number.NaN)));
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
function assertTasks(project: string, help: string): void {
  const wanted = project !== "no plugin" && project !== "hardhat-ethers alone";
  if (help.includes("vault settle") !== wanted) {
    throw new Error(
      `${project}: the vault tasks are ${wanted ? "missing" : "there"}`,
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
  await writeFile(path.join(project, "connect.ts"), connectScript);
  await writeFile(path.join(project, "request.ts"), requestScript);
  await writeFile(
    path.join(project, "contracts", "Empty.sol"),
    "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.20;\ncontract Empty {}\n",
  );
  return project;
}

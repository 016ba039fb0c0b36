import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { runHardhat } from "../test/helpers/cli.js";
import { startRpcServer } from "../test/helpers/rpc-server.js";
import type { Exchange } from "../test/helpers/rpc-server.js";
import { builtPlugin, root } from "./built-plugin.js";
import { differences, ratios, runInTurns } from "./measure.js";
import type { Extent, Figure } from "./measure.js";
import { onAnvil } from "./on-anvil.js";

/** Two starts differ by more than a plugin adds. */
const STARTS_EACH = 20;
/** Starts that also read a value. */
const READS_EACH = 8;

/** More than the 8 with which V8 optimizes the HTTP parser at the first answer: README.md. */
const HEADERS = 20;

const ETHERS = "@nomicfoundation/hardhat-ethers";

/** A script with hardhat-ethers that makes requests at once. */
function scriptOf(
  ...requests: ReadonlyArray<readonly [string, unknown[]]>
): string {
  return `import { network } from "hardhat";
const { ethers } = await network.create("live");
const requests = ${JSON.stringify(requests)};
console.log(
  await Promise.all(
    requests.map(([method, params]) => ethers.provider.send(method, params)),
  ),
);
`;
}

const scripts = {
  /** The least that somebody asks a node. */
  "one-request.ts": scriptOf(["eth_blockNumber", []]),
  /** As many as `vault round` makes. */
  "three-requests.ts": scriptOf(
    ["eth_blockNumber", []],
    ["eth_getBlockByNumber", ["latest", false]],
    ["eth_getBlockByNumber", ["pending", false]],
  ),
};

const PLAIN = "no plugin";
const WITH_ETHERS = "hardhat-ethers alone";
const OURS = "hardhat-vault";
const WITH_SETTINGS = "with settings of a network";
const SCRIPT_AT_PROVIDER = "hardhat-ethers, at a provider";
const TASK_AT_PROVIDER = "hardhat-vault, at a provider";

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
    const run =
      (script: keyof typeof scripts, project = WITH_ETHERS) =>
      async () =>
        await startIn(project, ["run", "--no-compile", script]);
    const round = (project: string) => async () =>
      await startIn(project, ["vault", "round", "--network", "live"]);
    const value = await runInTurns(
      {
        script: run("one-request.ts"),
        threeRequests: run("three-requests.ts"),
        task: round(WITH_SETTINGS),
        scriptAtProvider: run("one-request.ts", SCRIPT_AT_PROVIDER),
        taskAtProvider: round(TASK_AT_PROVIDER),
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
        goal: { demand: "at most", limit: 12 },
      },
      {
        name: `${added} by both, with settings of a network: ms`,
        values: differences(help[WITH_SETTINGS], help[PLAIN]),
        goal: { demand: "at most", limit: 15 },
      },
      { name: "`hardhat vault round`: ms", values: value.task },
      {
        name: "`hardhat vault round`: times a script with hardhat-ethers that asks once",
        values: ratios(value.task, value.script),
        goal: { demand: "at most", limit: 1.08 },
      },
      {
        name: "a script with the requests of `vault round`: times the one that asks once",
        values: ratios(value.threeRequests, value.script),
      },
      {
        name: `\`hardhat vault round\`, answers with ${HEADERS} more headers: times that script`,
        values: ratios(value.taskAtProvider, value.scriptAtProvider),
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
      const provider = await startRpcServer({
        upstream: url,
        handler: addHeaders,
      });
      try {
        const live = { type: "http", url };
        const atProvider = { ...live, url: provider.url };
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
          [SCRIPT_AT_PROVIDER]: await createProject(folder, "provider-ethers", {
            plugin: ETHERS,
            networks: { live: atProvider },
          }),
          [TASK_AT_PROVIDER]: await createProject(folder, "provider-vault", {
            plugin: builtPlugin,
            networks: { live: { ...atProvider, vault } },
          }),
        };
        return await measure(
          async (project, args) =>
            await startHardhat(projects[project] ?? "", args),
        );
      } finally {
        await provider.stop();
      }
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The node behind gives the answer. */
function addHeaders({ response }: Exchange): undefined {
  for (let index = 1; index <= HEADERS; index++) {
    response.setHeader(`x-header-${index}`, `value-of-it-${index}`);
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
    ...scripts,
  };
  await mkdir(project);
  for (const [file, text] of Object.entries(files)) {
    await writeFile(path.join(project, file), text);
  }
  return project;
}

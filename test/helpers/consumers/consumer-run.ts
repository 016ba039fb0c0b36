import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { startServerProcess } from "../child-process.js";
import { freePort } from "../free-port.js";
import type { Tarball } from "../tarball.js";
import {
  configurationOf,
  createConsumer,
  npmOptions,
  prepareConsumer,
  projectFolder,
  readDocuments,
  snippetOf,
  writeCompilerVariants,
} from "./consumer-project.js";
import type { ConsumerDefinition } from "./definitions.js";
import { runCommand, strangersEnvironment } from "./run-command.js";

/** What is tried in a consumer's project, each on what the one before left. */
export const consumerSteps = [
  "install the tarball",
  "compile its contracts, which import ours",
  "run its own tests and ours, and end by itself",
  "run tasks against its own node",
  "type-check strictly, our declarations included",
] as const;

type ConsumerStep = (typeof consumerSteps)[number];

const actions: Readonly<
  Record<
    ConsumerStep,
    (
      folder: string,
      definition: ConsumerDefinition,
      tarball: Tarball,
    ) => Promise<void>
  >
> = {
  "install the tarball": installTarball,
  "compile its contracts, which import ours": compileContracts,
  "run its own tests and ours, and end by itself": runTests,
  "run tasks against its own node": runTasks,
  "type-check strictly, our declarations included": typeCheck,
};

/** Takes one step in a consumer's project. */
export async function runStep(
  step: ConsumerStep,
  definition: ConsumerDefinition,
  tarball: Tarball,
): Promise<void> {
  await actions[step](projectFolder(definition), definition, tarball);
}

async function installTarball(
  folder: string,
  definition: ConsumerDefinition,
  { file, integrity }: Tarball,
): Promise<void> {
  await prepareConsumer(definition);
  await createConsumer(definition);
  await runCommand("npm", ["install", "--save-dev", file, ...npmOptions], {
    cwd: folder,
  });
  const lock = await readFile(path.join(folder, "package-lock.json"), "utf8");
  expect(lock, "the tarball that was just packed").to.include(integrity);
}

async function compileContracts(
  folder: string,
  { compilers = [] }: ConsumerDefinition,
): Promise<void> {
  await hardhat(folder, ["build", "--quiet"]);
  if (compilers.length > 0) {
    await writeCompilerVariants(folder, compilers);
    await hardhat(folder, ["--config", "variants/hardhat.config.ts", "build"]);
  }
}

async function runTests(
  folder: string,
  { template, testCommand }: ConsumerDefinition,
): Promise<void> {
  expect(await hardhat(folder, testCommand)).to.match(
    /[1-9]\d* passing|all assertions hold/u,
  );
  if (template === undefined) {
    await runDocuments(folder);
  }
}

/** Runs the documents' scripts, and compares what they print with what they say. */
async function runDocuments(folder: string): Promise<void> {
  const scripts = (await readDocuments()).filter(
    ({ promisedOutput }) => promisedOutput.length > 0,
  );
  expect(scripts).to.not.be.empty;
  for (const script of scripts) {
    const stdout = await hardhat(folder, [
      "--config",
      configurationOf("README.md"),
      "run",
      "--no-compile",
      snippetOf(script),
    ]);
    expect(stdout.trim().split("\n"), snippetOf(script)).to.deep.equal(
      script.promisedOutput,
    );
  }
}

async function runTasks(folder: string): Promise<void> {
  const port = await freePort();
  const node = await startServerProcess(
    process.execPath,
    [
      hardhatCli(folder),
      "node",
      "--hostname",
      "127.0.0.1",
      "--port",
      String(port),
    ],
    /JSON-RPC server at http:\/\/127\.0\.0\.1:(\d+)/u,
    { cwd: folder, env: strangersEnvironment() },
  );
  const run = async (...args: string[]): Promise<unknown> =>
    JSON.parse(
      await hardhat(
        folder,
        ["--config", "local-node.config.ts", "vault", ...args].concat(
          "--json",
          "--network",
          "local",
        ),
        { LOCAL_NODE_URL: node.url },
      ),
    );
  try {
    await run("deploy-mocks", "--scenario", "expired-round");
    expect(await run("status")).to.have.nested.property(
      "status.round.settled",
      false,
    );
    expect(await run("settle", "--yes")).to.have.nested.property(
      "settlement.status",
      "settled",
    );
  } finally {
    await node.stop();
  }
}

async function typeCheck(folder: string): Promise<void> {
  const compiler = path.join(folder, "node_modules/typescript/bin/tsc");
  for (const project of ["tsconfig.strict.json", "tsconfig.entries.json"]) {
    await runCommand(process.execPath, [compiler, "-p", project], {
      cwd: folder,
    });
  }
}

async function hardhat(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return await runCommand(process.execPath, [hardhatCli(folder), ...args], {
    cwd: folder,
    env,
  });
}

function hardhatCli(folder: string): string {
  return path.join(folder, "node_modules/hardhat/dist/src/cli.js");
}

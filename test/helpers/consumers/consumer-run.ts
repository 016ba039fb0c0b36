import { existsSync } from "node:fs";
import { glob, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { foundryBinary } from "../anvil.js";
import { startServerProcess } from "../child-process.js";
import { fieldsOf, listOf } from "../fields.js";
import { keysOf } from "../../../src/protocol/index.js";
import { sample } from "../sample.js";
import { contractSources, foundryCompiler } from "../solc.js";
import type { Tarball } from "../tarball.js";
import {
  configurationOf,
  createConsumer,
  install,
  nameOf,
  nodeProgram,
  projectFolder,
  readDocuments,
  repositoryRoot,
  snippetOf,
} from "./consumer-project.js";
import type { DocumentBlock } from "./consumer-project.js";
import type { ConsumerDefinition } from "./definitions.js";
import { runCommand, strangersEnvironment } from "./run-command.js";

type Action = (
  folder: string,
  definition: ConsumerDefinition,
  tarball: Tarball,
) => Promise<void>;

/** Each step works on what the step before left. */
const actions = {
  "install the tarball": installTarball,
  "run tasks": runTasks,
  "run its own tests and ours, and end by itself": runTests,
  "have compiled its contracts, which import all of ours": checkBuild,
  "type-check strictly, our declarations included": typeCheck,
  "run its Solidity tests with Foundry": runForge,
} satisfies Readonly<Record<string, Action>>;

type ConsumerStep = keyof typeof actions;

export function stepsOf({
  compiler,
  hasForge = false,
  hasNoPlugin = false,
  testCommand,
}: ConsumerDefinition): readonly ConsumerStep[] {
  const exceptions: { readonly [Step in ConsumerStep]?: boolean } = {
    "run tasks": hasNoPlugin,
    "run its own tests and ours, and end by itself": testCommand === undefined,
    "have compiled its contracts, which import all of ours":
      compiler === undefined,
    "type-check strictly, our declarations included": hasNoPlugin,
    "run its Solidity tests with Foundry": !hasForge,
  };
  return keysOf(actions).filter((step) => exceptions[step] !== true);
}

export async function runStep(
  step: ConsumerStep,
  definition: ConsumerDefinition,
  tarball: Tarball,
): Promise<void> {
  await actions[step](projectFolder(definition), definition, tarball);
}

async function installTarball(
  _folder: string,
  definition: ConsumerDefinition,
  { file, integrity }: Tarball,
): Promise<void> {
  await createConsumer(definition);
  const { hasNode = false, peers = [] } = definition;
  let lock = await install(definition, file, ...(hasNode ? [] : peers));
  if (hasNode) {
    // Hardhat itself says what is missing.
    for (const peer of peers) {
      const error: unknown = await hardhat(definition, [
        "vault",
        "round",
      ]).catch((reason: unknown) => reason);
      expect(String(error)).to.include(`"${nameOf(peer)}"`);
      lock = await install(definition, peer);
    }
  }
  expect(lock, "the tarball that was just packed").to.include(integrity);
}

async function runTests(
  _folder: string,
  definition: ConsumerDefinition,
): Promise<void> {
  expect(await hardhat(definition, definition.testCommand ?? [])).to.match(
    /[1-9]\d* passing|all assertions hold/u,
  );
  const scripts = (await readDocuments(definition)).filter(
    ({ promisedOutput }) => promisedOutput.length > 0,
  );
  if (scripts.length > 0) {
    await runDocuments(definition, scripts);
  }
}

/** Each script makes its own connection, so one process can run them all. */
async function runDocuments(
  definition: ConsumerDefinition,
  scripts: readonly DocumentBlock[],
): Promise<void> {
  const folder = projectFolder(definition);
  await writeFile(
    path.join(folder, "run-documents.ts"),
    scripts
      .map(snippetOf)
      .map((file) => `console.log("${file}");\nawait import("./${file}");\n`)
      .join(""),
  );
  const stdout = await hardhat(definition, [
    "--config",
    configurationOf("README.md"),
    "run",
    "--no-compile",
    "run-documents.ts",
  ]);
  expect(stdout.trim().split("\n")).to.deep.equal(
    scripts.flatMap((script) => [snippetOf(script), ...script.promisedOutput]),
  );
}

async function runTasks(
  folder: string,
  definition: ConsumerDefinition,
): Promise<void> {
  if (definition.hasNode === true) {
    await runTasksOnNode(folder, definition);
    return;
  }
  expect(
    JSON.parse(await hardhat(definition, ["vault", "deploy-mocks", "--json"])),
  ).to.have.property("scenario", "open-round");
}

/** Also leaves a capture behind, for the project's test to replay. */
async function runTasksOnNode(
  folder: string,
  definition: ConsumerDefinition,
): Promise<void> {
  const listen = ["--hostname", "127.0.0.1", "--port", "0"];
  const node = await startServerProcess(
    process.execPath,
    [hardhatCli(folder), "node", ...listen],
    /JSON-RPC server at http:\/\/127\.0\.0\.1:(\d+)/u,
    { cwd: folder, env: strangersEnvironment() },
  );
  const env: Record<string, string> = { LOCAL_NODE_URL: node.url };
  const onNode = async (...args: string[]): Promise<string> =>
    await hardhat(definition, [...args, "--network", "localhost"], env);
  const run = async (
    ...args: string[]
  ): Promise<Readonly<Record<string, unknown>>> =>
    fieldsOf(JSON.parse(await onNode("vault", ...args, "--json")));
  try {
    await run("deploy-mocks", "--scenario", "expired-round");
    if (definition.nodeScript !== undefined) {
      expect(
        await onNode("run", "--no-compile", definition.nodeScript),
      ).to.equal("settled: all assertions hold\n");
      return;
    }
    await Promise.all([
      run("capture", "--out", "fixture.json", "--ids", "1-5"),
      run("status").then(async (document) => {
        expect(document).to.have.nested.property("status.round.settled", false);
        await save("status.json", document);
      }),
      run("orders", "--ids", "1-5").then(async (document) => {
        await save("orders.json", document);
      }),
    ]);
    // A keeper's day: late, then with a guard in time.
    const late = run("settle", "--if-expired", "--assert");
    expect(await late.catch(() => "late")).to.equal("late");
    const { guard } = await run("deploy-guard", "--yes");
    const { address } = fieldsOf(guard);
    env["VAULT_GUARD"] = String(address);
    const { settlement } = await run("settle", "--if-expired", "--yes");
    expect(settlement).to.include({ status: "settled", guard: address });
    await run("settle", "--if-expired", "--assert");
  } finally {
    await node.stop();
  }

  async function save(file: string, document: object): Promise<void> {
    await writeFile(path.join(folder, file), JSON.stringify(document));
  }
}

/** No limit of size holds for a test, which is not deployed. */
const TEST_FILE = /\.t\.sol\b/u;

/** Hardhat's build left what it compiled, and its warnings. */
async function checkBuild(folder: string): Promise<void> {
  const compiled = new Set<string>();
  const buildInfos = path.join(folder, "artifacts/build-info");
  for await (const file of glob("*.output.json", { cwd: buildInfos })) {
    const text = await readFile(path.join(buildInfos, file), "utf8");
    const { output } = fieldsOf(JSON.parse(text));
    const { errors, sources } = fieldsOf(output);
    expect(
      listOf(errors ?? [])
        .map((error) => String(fieldsOf(error)["formattedMessage"]))
        .filter((message) => !TEST_FILE.test(message)),
      "errors and warnings",
    ).to.deep.equal([]);
    for (const source of Object.keys(fieldsOf(sources))) {
      // Hardhat adds the name and version of the package.
      compiled.add(source.replace(/^npm\/hardhat-vault@[^/]+\//u, ""));
    }
  }
  const importable = Object.keys(await contractSources()).filter(
    (file) => !file.startsWith("contracts/lens/"),
  );
  expect([...compiled]).to.include.members(importable);
}

/** The whole project, and what this package exports with all that those types import. */
async function typeCheck(
  folder: string,
  { name }: ConsumerDefinition,
): Promise<void> {
  // Our declarations, with the newest versions if `alike` takes that project.
  const entries = sample(["readme", "contract-tests", "readme"], 1).includes(
    name,
  )
    ? ["tsconfig.entries.json"]
    : [];
  await runCommand(
    process.execPath,
    [
      path.join(folder, "node_modules/typescript/bin/tsc"),
      ...["--build", "tsconfig.strict.json", ...entries],
    ],
    { cwd: folder },
  );
}

/** With the remapping that the document shows, and the compiler of an npm package. */
async function runForge(
  folder: string,
  { compiler }: ConsumerDefinition,
): Promise<void> {
  const guide = await readFile(
    path.join(repositoryRoot, "docs/solidity-tests.md"),
    "utf8",
  );
  const [, remappings = ""] =
    /^```text\n(hardhat-vault\/=.*?)^```$/msu.exec(guide) ?? [];
  const solc = path.join(folder, "solc.cjs");
  await writeFile(path.join(folder, "remappings.txt"), remappings);
  await writeFile(solc, foundryCompiler(compiler ?? "0.8.37"), {
    mode: 0o755,
  });
  await writeFile(
    path.join(folder, "foundry.toml"),
    `[profile.default]
src = "contracts"
solc = "./solc.cjs"
offline = true
`,
  );
  const output = await runCommand(foundryBinary("forge"), ["test"], {
    cwd: folder,
  });
  expect(output).to.match(/3 tests passed, 0 failed, 0 skipped/u);
}

async function hardhat(
  definition: ConsumerDefinition,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = projectFolder(definition);
  const { node } = definition;
  return await runCommand(
    node === undefined ? process.execPath : await nodeProgram(node),
    [hardhatCli(folder), ...args],
    { cwd: folder, env },
  );
}

function hardhatCli(folder: string): string {
  const [cli] = [
    "node_modules/hardhat/dist/src/cli.js",
    "node_modules/hardhat/internal/cli/bootstrap.js",
  ]
    .map((file) => path.join(folder, file))
    .filter((file) => existsSync(file));
  if (cli === undefined) {
    throw new Error(`Hardhat is not installed in ${folder}`);
  }
  return cli;
}

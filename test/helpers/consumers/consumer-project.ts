import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import { solcPackages } from "../solc.js";
import type { ConsumerDefinition } from "./definitions.js";
import { runCommand } from "./run-command.js";

const { resolve } = createRequire(import.meta.url);

export const repositoryRoot = path.resolve(import.meta.dirname, "../../..");
const fixtures = path.join(repositoryRoot, "test/fixture-projects/consumers");
const examples = path.join(repositoryRoot, "examples");
const templates = path.join(
  path.dirname(resolve("hardhat/package.json")),
  "templates",
);

/**
 * Not below this repository: its node_modules would be found from there, and a
 * dependency that this package forgot to declare with it.
 */
export const consumersFolder = path.join(
  tmpdir(),
  `hardhat-vault-consumers-${hash(repositoryRoot).slice(0, 12)}`,
);

const npmOptions = [
  "--no-audit",
  "--no-fund",
  "--loglevel=error",
  "--prefer-offline",
  "--ignore-scripts",
] as const;

export function projectFolder({
  name,
  folder = name,
}: ConsumerDefinition): string {
  return path.join(consumersFolder, folder);
}

const programs = new Map<string, string>();

/** The program of a version of Node, from npm. */
export async function nodeProgram(version: string): Promise<string> {
  const known = programs.get(version);
  if (known !== undefined) {
    return known;
  }
  const program = ["node", "-p", "process.execPath"];
  const printed = await runCommand(
    "npx",
    ["--yes", `--package=node@${version}`, "--", ...program],
    { cwd: tmpdir() },
  );
  programs.set(version, printed.trim());
  return printed.trim();
}

/** Installs packages in a project, and returns its lock file after that. */
export async function install(
  definition: ConsumerDefinition,
  ...packages: string[]
): Promise<string> {
  const folder = projectFolder(definition);
  await runCommand(
    "npm",
    ["install", "--save-dev", ...packages, ...npmOptions],
    { cwd: folder },
  );
  return await readFile(path.join(folder, "package-lock.json"), "utf8");
}

/** Makes the project without this package, with what npm chooses for its ranges today. */
export async function createConsumer(
  definition: ConsumerDefinition,
): Promise<void> {
  const folder = projectFolder(definition);
  await rm(folder, { recursive: true, force: true });
  await cp(projectOf(definition), folder, {
    recursive: true,
    filter: (source) => path.basename(source) !== "node_modules",
  });
  const configuration = path.join(folder, "hardhat.config.ts");
  if (definition.template !== undefined) {
    await addPlugin(configuration);
    // forge-std is a git dependency.
    await rm(path.join(folder, "contracts/Counter.t.sol"), { force: true });
  }
  await cp(path.join(fixtures, "common"), folder, { recursive: true });
  if (definition.compiler === undefined) {
    await rm(path.join(folder, "contracts"), { recursive: true });
  } else if (existsSync(configuration)) {
    const text = await readFile(configuration, "utf8");
    await writeFile(configuration, useLocalCompiler(text, definition));
  }
  if (existsSync(fixtureOf(definition))) {
    await cp(fixtureOf(definition), folder, { recursive: true });
  }
  await writeCodeBlocks(folder, definition);
  const manifest = await manifestOf(definition);
  await writeFile(path.join(folder, "package.json"), manifest);
  await runCommand("npm", ["install", ...npmOptions], { cwd: folder });
}

/** The package.json of a consumer before it installs this package. */
async function manifestOf(definition: ConsumerDefinition): Promise<string> {
  const { hasNode = false, peers = [] } = definition;
  const installedLater = hasNode
    ? ["hardhat-vault", ...peers.map(nameOf)]
    : ["hardhat-vault"];
  const file = path.join(projectOf(definition), "package.json");
  const text = await readFile(file, "utf8");
  const manifest: unknown = JSON.parse(text, (key, value: unknown) =>
    key === "forge-std" || installedLater.includes(key)
      ? undefined
      : typeof value === "string"
        ? (definition.versions[key] ?? value.replace(/^workspace:/u, ""))
        : value,
  );
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** Where its project is: a template of Hardhat's, an example, or a fixture. */
function projectOf(definition: ConsumerDefinition): string {
  const { name, files = name, template } = definition;
  const example = path.join(examples, files);
  return template !== undefined
    ? path.join(templates, template)
    : existsSync(example)
      ? example
      : fixtureOf(definition);
}

function fixtureOf({ name, files = name }: ConsumerDefinition): string {
  return path.join(fixtures, files);
}

export function nameOf(argument: string): string {
  return argument.replace(/(?<=.)@.*$/u, "");
}

/** The edits that a user of a template makes. */
async function addPlugin(file: string): Promise<void> {
  const original = await readFile(file, "utf8");
  const withPlugin = original.includes("plugins: [")
    ? replace(original, /plugins: \[(\w+)\]/u, "plugins: [$1, vault]")
    : replace(original, /defineConfig\(\{/u, "$&\n  plugins: [vault],");
  const withImport = replace(
    withPlugin,
    /import \{.*\} from "hardhat\/config";\n/u,
    '$&import vault from "hardhat-vault";\n',
  );
  await writeFile(file, withImport);
}

/** Names the compiler of an npm package instead of a download. */
function useLocalCompiler(
  configuration: string,
  { name, compiler }: ConsumerDefinition,
): string {
  if (compiler === undefined) {
    throw new Error(`${name} compiles nothing`);
  }
  const file = resolve(`${solcPackages[compiler]}/soljson.js`);
  return replace(
    configuration,
    /version: "0\.8\.\d+"/gu,
    `version: "${compiler}", path: ${JSON.stringify(file)}`,
  );
}

/** Where a document's configuration stands, if it shows one without a name. */
export function configurationOf(document: string): string {
  return `${path.basename(document, ".md")}.config.ts`;
}

/**
 * Writes the code that the documents show for such a project: files under the
 * name that their first line gives, as in `// test/vault.ts`, a configuration beside the
 * project's own, other blocks as modules.
 */
async function writeCodeBlocks(
  folder: string,
  definition: ConsumerDefinition,
): Promise<void> {
  for (const block of await readDocuments(definition)) {
    const { document, text } = block;
    const [, file] = /^\/\/ ([\w./-]+\.(?:ts|sol))\n/u.exec(text) ?? [];
    const isConfiguration = text.includes("\nexport default defineConfig(");
    const target = path.join(
      folder,
      file ?? (isConfiguration ? configurationOf(document) : snippetOf(block)),
    );
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(
      target,
      file === "hardhat.config.ts"
        ? useLocalCompiler(text, definition)
        : block.language === "ts"
          ? `${text}\nexport {};\n`
          : text,
    );
  }
}

/** Where a block without a name stands in the project. */
export function snippetOf({ document, language, line }: DocumentBlock): string {
  const name = `${path.basename(document, ".md")}-line-${line}`;
  return language === "js"
    ? `test/${name}.js`
    : language === "solidity"
      ? `contracts/${name}.sol`
      : `snippets/${name}.ts`;
}

export interface DocumentBlock {
  readonly document: string;
  /** Line of the document at which its text starts. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** What its `console.log(…); // …` lines promise to print. */
  readonly promisedOutput: readonly string[];
}

/** The ```ts, ```js and ```solidity blocks of all documents that are meant for such a project. */
export async function readDocuments({
  documents: wanted,
}: ConsumerDefinition): Promise<readonly DocumentBlock[]> {
  const found: DocumentBlock[] = [];
  if (wanted === undefined) {
    return found;
  }
  const files = glob(["docs/*.md", "README.md"], { cwd: repositoryRoot });
  for (const file of (await Array.fromAsync(files)).sort()) {
    const document = path.join(repositoryRoot, file);
    const markdown = await readFile(document, "utf8");
    for (const match of markdown.matchAll(
      /^```(ts|js|solidity)\n(.*?)^```$/gmsu,
    )) {
      const [, language = "", text = ""] = match;
      found.push({
        ...{ document, language, text },
        line: markdown.slice(0, match.index).split("\n").length + 1,
        promisedOutput: [
          ...text.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gmu),
        ].map(([, output = ""]) => output),
      });
    }
  }
  return found.filter((block) => audienceOf(block) === wanted);
}

/** Which project a block is for: each is for one. */
function audienceOf({
  document,
  language,
  text,
}: DocumentBlock): ConsumerDefinition["documents"] {
  return language === "js"
    ? "hardhat-2"
    : language === "solidity" || path.basename(document) === "solidity-tests.md"
      ? "solidity"
      : text.includes(' from "viem"')
        ? "viem"
        : "ethers";
}

function replace(text: string, pattern: RegExp, replacement: string): string {
  const replaced = text.replace(pattern, replacement);
  if (replaced === text) {
    throw new Error(
      `nothing in this text matches ${String(pattern)}:\n${text}`,
    );
  }
  return replaced;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

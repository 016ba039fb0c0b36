/**
 * The commands of README.md and docs/coming-from.md: tasks are run in this
 * process, others in a shell with the tools that they name.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";

import { foundryBinary } from "../../test/helpers/anvil.js";
import { environmentWithoutColours } from "../../test/helpers/cli.js";
import { readCodeBlocks } from "../../test/helpers/consumers/code-blocks.js";
import { runTyped } from "../../test/helpers/run-vault-task.js";
import { foundryCompiler } from "../../test/helpers/solc.js";
import { onDocumentedNode } from "./documented-node.js";
import type { DocumentedNode } from "./documented-node.js";

const root = path.resolve(import.meta.dirname, "../..");

/**
 * In the order in which they are run, all on one chain: the first uses the mocks that are
 * there, the second deploys its own.
 */
const documents = ["docs/coming-from.md", "README.md"].map((file) =>
  path.join(root, file),
);

/** The node's, as the documents have it. */
const NODE_URL = "http://127.0.0.1:8545";

/** A line of an output that stands for any number of lines. */
const LEFT_OUT = "…";

/**
 * Runs every command of a ```console block, and every script for Node.js.
 *
 * @returns The documents as they are with today's outputs, by file.
 */
export async function runDocumentedCommands(): Promise<
  ReadonlyMap<string, string>
> {
  return await onDocumentedNode(async (node) => {
    const shell = await prepareShell(node);
    await shell("npx hardhat vault deploy-mocks --network localhost", {});
    const texts = new Map<string, string>();
    for (const document of documents) {
      texts.set(document, await renewOutputs(document, node, shell));
    }
    return texts;
  });
}

type Shell = (
  command: string,
  variables: Readonly<Record<string, string>>,
) => Promise<string>;

/** A shell that has the project's tools, and finds the node at its URL. */
async function prepareShell({
  url,
  folder,
  hre,
}: DocumentedNode): Promise<Shell> {
  const bin = path.join(folder, "bin");
  await mkdir(bin);
  for (const tool of ["cast", "forge"] as const) {
    await symlink(foundryBinary(tool), path.join(bin, tool));
  }
  await writeFoundryProject(folder);
  const environment = environmentWithoutColours();
  return async (command, variables) => {
    const [, typed] =
      /^npx hardhat vault (.*?)(?: --network localhost)?$/u.exec(command) ?? [];
    if (typed !== undefined) {
      const { stdout, stderr } = await runTyped(
        hre,
        typed.replaceAll(
          /\$(\w+)/gu,
          (_, name: string) => variables[name] ?? "",
        ),
      );
      return `${stderr}${stdout}`.replaceAll(url, NODE_URL);
    }
    const child = spawn("bash", ["-c", command.replaceAll(NODE_URL, url)], {
      cwd: folder,
      env: {
        ...environment,
        ...variables,
        PATH: [bin, path.dirname(process.execPath), environment["PATH"]].join(
          path.delimiter,
        ),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    await once(child, "close");
    return output.replaceAll(url, NODE_URL);
  };
}

/** With the compiler of an npm package: forge would download one. */
async function writeFoundryProject(folder: string): Promise<void> {
  await writeFile(
    path.join(folder, "foundry.toml"),
    '[profile.default]\nsrc = "script"\nsolc = "./solc.cjs"\noffline = true\n',
  );
  await writeFile(path.join(folder, "solc.cjs"), foundryCompiler("0.8.37"), {
    mode: 0o755,
  });
}

async function renewOutputs(
  document: string,
  node: DocumentedNode,
  shell: Shell,
): Promise<string> {
  const markdown = await readFile(document, "utf8");
  const variables = Object.fromEntries(
    Array.from(
      markdown.matchAll(/^export (\w+)=(\S+)$/gmu),
      ([, name = "", value = ""]) => [
        name,
        value.replaceAll(NODE_URL, node.url),
      ],
    ),
  );
  await writeScripts(document, node);
  let renewed = markdown;
  for (const [block, body = ""] of markdown.matchAll(
    /^```console\n(.*?)^```$/gmsu,
  )) {
    const parts: string[] = [];
    for (const [, command = "", shown = ""] of body.matchAll(
      /^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gmu,
    )) {
      const output = (await shell(command, variables)).trim();
      parts.push(
        `$ ${command}\n${matches(output, shown) ? shown : `${output}\n`}`,
      );
    }
    renewed = renewed.replace(
      block,
      () => `\`\`\`console\n${parts.join("")}\`\`\``,
    );
  }
  return renewed;
}

/** True for an output that leaves lines out, and has the others in this order. */
function matches(output: string, shown: string): boolean {
  const parts = `\n${shown}`.split(`\n${LEFT_OUT}\n`);
  let rest = `\n${output}\n`;
  return (
    parts.length > 1 &&
    parts.every((part) => {
      const at = rest.indexOf(part);
      rest = rest.slice(at + part.length);
      return at !== -1;
    })
  );
}

/** The files that a document names, for its commands. */
async function writeScripts(
  document: string,
  { url, folder }: DocumentedNode,
): Promise<void> {
  for (const { file, text } of await readCodeBlocks(document)) {
    if (file !== undefined && document.endsWith("coming-from.md")) {
      const target = path.join(folder, file);
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(
        target,
        text.replaceAll(NODE_URL, url).replace(
          // The package's own name is not found from a folder of its own.
          '"hardhat-vault/abi"',
          JSON.stringify(path.join(root, "src/abi/index.ts")),
        ),
      );
    }
  }
}

import { readFile } from "node:fs/promises";
import path from "node:path";
import { mock } from "node:test";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { format } from "oxfmt";
import type { FormatConfig } from "oxfmt";

import packageDescription from "../../package.json" with { type: "json" };
import { startDatedAnvil } from "../../test/helpers/anvil.js";
import { useFixtureProject } from "../../test/helpers/fixture-project.js";
import { createTestHre } from "../../test/helpers/hre.js";
import { keysOf } from "../../src/protocol/index.js";
import { runOnTerminal, runTyped } from "../../test/helpers/run-vault-task.js";
import { drawTerminal, themes } from "./picture.js";
import { toJsonSchema } from "./json-documents.js";
import { renderErrors } from "./render-errors.js";
import { renderTasks } from "./render-tasks.js";

const root = path.resolve(import.meta.dirname, "../..");

/** 21 November 2026, so that the documents do not change with every day. */
const GENESIS_SECONDS = 1_795_250_890;

/** An output that is not shown. */
const LEFT_OUT = "…\n";

/** The generated documents and README.md, by file, with what their commands print today. */
export async function recordDocuments(): Promise<ReadonlyMap<string, string>> {
  const readme = await readFile(path.join(root, "README.md"), "utf8");
  return new Map([
    ["README.md", await withOutputs(withAddress(readme), [])],
    [
      "docs/tasks.md",
      await formatted(await withOutputs(renderTasks(), ["deploy-mocks"])),
    ],
    ["docs/troubleshooting.md", await formatted(renderErrors())],
    ...(await drawSettlement()),
    [
      "docs/tasks.schema.json",
      await formatted(JSON.stringify(toJsonSchema()), "json"),
    ],
  ]);
}

/** The address of the site is written in package.json; README.md repeats it. */
function withAddress(readme: string): string {
  return readme.replace(
    /(?<=\[Documentation\]\()[^)]*/u,
    packageDescription.homepage,
  );
}

/** A settlement in the terminal, in both themes. */
async function drawSettlement(): Promise<ReadonlyArray<[string, string]>> {
  const typed = "settle --yes";
  const columns = 80;
  return await onDocumentedNode(async (hre) => {
    await runTyped(hre, "deploy-mocks --scenario as-deployed");
    process.env["FORCE_COLOR"] = "1";
    const shown = await runOnTerminal(hre, typed, columns);
    delete process.env["FORCE_COLOR"];
    // The round itself is in README.md.
    const output = `$ npx hardhat vault ${typed} --network localhost\n…\n${shown.slice(shown.search(/^.*Changes/mu))}`;
    return await Promise.all(
      keysOf(themes).map(async (theme): Promise<[string, string]> => [
        `docs/settlement-${theme}.svg`,
        await drawTerminal(
          output,
          columns,
          "A settlement in the terminal",
          themes[theme],
        ),
      ]),
    );
  });
}

async function formatted(text: string, type = "md"): Promise<string> {
  const settings = path.join(root, ".oxfmtrc.json");
  // its schema is oxfmt's
  const options = JSON.parse(await readFile(settings, "utf8")) as FormatConfig;
  return (await format(`page.${type}`, text, options)).code;
}

/**
 * Runs every task in a page, in its order, on a chain of its own.
 *
 * @param first Tasks that run before.
 * @returns The page with today's outputs.
 */
async function withOutputs(
  page: string,
  first: readonly string[],
): Promise<string> {
  return await onDocumentedNode(async (hre) => {
    for (const task of first) {
      await runTyped(hre, task);
    }
    let renewed = page;
    for (const [shown, task = "", output = ""] of page.matchAll(
      /^\$ npx hardhat vault (.*) --network localhost\n((?:(?!\$ |```).*\n)*)/gmu,
    )) {
      if (task === "doctor") {
        // It compares the newest block with the clock.
        const now = (GENESIS_SECONDS + 20) * 1_000;
        mock.timers.enable({ apis: ["Date"], now });
      }
      const { stdout, stderr, exitCode } = await runTyped(hre, task);
      mock.timers.reset();
      if (exitCode !== 0) {
        throw new Error(`${shown}${stdout}${stderr}`);
      }
      if (output !== LEFT_OUT) {
        const command = shown.slice(0, shown.length - output.length);
        renewed = renewed.replace(
          shown,
          () => `${command}${stderr}${stdout}`.trimEnd() + "\n",
        );
      }
    }
    return renewed;
  });
}

/** Starts the node `localhost` that the documents speak of, and its project. */
async function onDocumentedNode<T>(
  work: (hre: HardhatRuntimeEnvironment) => Promise<T>,
): Promise<T> {
  const anvil = await startDatedAnvil(GENESIS_SECONDS);
  const project = await useFixtureProject("plain");
  const before = process.cwd();
  // Files that a command writes are found from here.
  process.chdir(project.path);
  try {
    // Its clock is not that of this machine.
    const vault = { tokenDecimals: 18, maxHeadAge: false } as const;
    return await work(
      await createTestHre(
        { networks: { localhost: { type: "http", url: anvil.url, vault } } },
        { network: "localhost", projectRoot: project.path },
      ),
    );
  } finally {
    process.chdir(before);
    await anvil.stop();
    await project.remove();
  }
}

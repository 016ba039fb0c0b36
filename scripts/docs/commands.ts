import { readFile } from "node:fs/promises";
import path from "node:path";

import { runTyped } from "../../test/helpers/run-vault-task.js";
import { onDocumentedNode } from "./documented-node.js";

export const readme = path.resolve(import.meta.dirname, "../../README.md");

/** A line of an output that stands for any number of lines. */
const LEFT_OUT = "…\n";

/** Runs every task in README.md. @returns The page with today's outputs. */
export async function runDocumentedCommands(): Promise<string> {
  const page = await readFile(readme, "utf8");
  return await onDocumentedNode(async ({ hre }) => {
    let renewed = page;
    for (const [shown, task = "", output = ""] of page.matchAll(
      /^\$ npx hardhat vault (.*) --network localhost\n((?:(?!\$ |```).*\n)*)/gmu,
    )) {
      const { stdout, stderr } = await runTyped(hre, task);
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

import { readFile } from "node:fs/promises";
import path from "node:path";

import { format } from "oxfmt";
import type { FormatConfig } from "oxfmt";

import type { Examples } from "./examples.js";
import { renderErrors } from "./render-errors.js";
import { renderTasks } from "./render-tasks.js";

const root = path.resolve(import.meta.dirname, "../..");

/** The file that keeps the recorded {@link Examples}. */
export const tasksDocument = path.join(root, "docs/tasks.md");

/**
 * The documents that are written from the code, by file, formatted.
 *
 * @param examples What the commands print.
 */
export async function generatedDocuments(
  examples: Examples,
): Promise<ReadonlyMap<string, string>> {
  const documents = [
    ["docs/tasks.md", renderTasks(examples)],
    ["docs/troubleshooting.md", renderErrors()],
  ] as const;
  const settings = path.join(root, ".oxfmtrc.json");
  // its schema is oxfmt's
  const options = JSON.parse(await readFile(settings, "utf8")) as FormatConfig;
  return new Map(
    await Promise.all(
      documents.map(async ([name, text]) => {
        const { code } = await format(name, text, options);
        return [path.join(root, name), code] as const;
      }),
    ),
  );
}

import path from "node:path";

import { format } from "prettier";

import type { Examples } from "./examples.js";
import { renderErrors } from "./render-errors.js";
import { renderTasks } from "./render-tasks.js";

const docs = path.resolve(import.meta.dirname, "../../docs");

/** Where {@link Examples} are kept between their recordings. */
export const tasksDocument = path.join(docs, "tasks.md");

/**
 * The documents that are written from the code, by file, formatted.
 *
 * @param examples What the commands print.
 */
export async function generatedDocuments(
  examples: Examples,
): Promise<ReadonlyMap<string, string>> {
  const documents = [
    ["tasks.md", renderTasks(examples)],
    ["troubleshooting.md", renderErrors()],
  ] as const;
  return new Map(
    await Promise.all(
      documents.map(
        async ([file, text]) =>
          [
            path.join(docs, file),
            await format(text, { parser: "markdown" }),
          ] as const,
      ),
    ),
  );
}

import path from "node:path";

import { format } from "prettier";

import { renderErrors } from "./render-errors.js";
import { renderTasks } from "./render-tasks.js";

const docs = path.resolve(import.meta.dirname, "../../docs");

/** The documents that are written from the code, by file, formatted. */
export async function generatedDocuments(): Promise<
  ReadonlyMap<string, string>
> {
  const documents = [
    ["tasks.md", renderTasks()],
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

/**
 * Writes the generated documents, with what the commands print today. The nightly tests fail
 * if they differ from the code.
 */
import { writeFile } from "node:fs/promises";

import { readme, runDocumentedCommands } from "./commands.js";
import { recordExamples } from "./examples.js";
import { generatedDocuments } from "./generated-documents.js";

for (const [file, text] of [
  ...(await generatedDocuments(await recordExamples())),
  [readme, await runDocumentedCommands()] as const,
]) {
  await writeFile(file, text);
}

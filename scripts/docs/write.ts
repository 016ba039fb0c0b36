/**
 * Writes the generated documents, with what the commands print today; `npm test`
 * fails where the rest has drifted.
 */
import { writeFile } from "node:fs/promises";

import { runDocumentedCommands } from "./commands.js";
import { recordExamples } from "./examples.js";
import { generatedDocuments } from "./generated-documents.js";

for (const [file, text] of [
  ...(await generatedDocuments(await recordExamples())),
  ...(await runDocumentedCommands()),
]) {
  await writeFile(file, text);
}

/**
 * Writes the generated documents, with what the commands print today; `npm test`
 * fails where the rest has drifted.
 */
import { writeFile } from "node:fs/promises";

import { recordExamples } from "./examples.js";
import { generatedDocuments } from "./generated-documents.js";

for (const [file, text] of await generatedDocuments(await recordExamples())) {
  await writeFile(file, text);
}

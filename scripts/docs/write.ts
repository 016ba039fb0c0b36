/** Writes the generated documents; `npm test` fails where they have drifted. */
import { writeFile } from "node:fs/promises";

import { generatedDocuments } from "./generated-documents.js";

for (const [file, text] of await generatedDocuments()) {
  await writeFile(file, text);
}

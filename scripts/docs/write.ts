import { writeFile } from "node:fs/promises";

import { recordDocuments } from "./record.js";

for (const [file, text] of await recordDocuments()) {
  await writeFile(file, text);
}

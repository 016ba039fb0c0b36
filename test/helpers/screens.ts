import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

/**
 * Compares with what is recorded in `test/tasks/screens/`. UPDATE_SCREENS=1
 * records it again, to be read before it is committed.
 */
export async function expectScreen(name: string, text: string): Promise<void> {
  const folder = path.join(import.meta.dirname, "../tasks/screens");
  const file = path.join(folder, `${name}.txt`);
  if (process.env["UPDATE_SCREENS"] === "1") {
    await writeFile(file, text);
  }
  expect(text).to.equal(await readFile(file, "utf8"));
}

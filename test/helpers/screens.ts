import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

const screens = path.join(import.meta.dirname, "../tasks/screens");

export async function readScreen(name: string): Promise<string> {
  return await readFile(path.join(screens, `${name}.txt`), "utf8");
}

/**
 * Compares with what is recorded in `test/tasks/screens/`. UPDATE_SCREENS=1
 * records it again, to be read before it is committed.
 */
export async function expectScreen(name: string, text: string): Promise<void> {
  if (process.env["UPDATE_SCREENS"] === "1") {
    await mkdir(screens, { recursive: true });
    await writeFile(path.join(screens, `${name}.txt`), text);
  }
  expect(text).to.equal(await readScreen(name));
}

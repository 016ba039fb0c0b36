import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

/** What would differ with another build of the mocks, or on another day. */
const varying = [
  /(?<="(?:gasUsed|estimatedGas)":\s?")\d+/gu,
  /(?<="(?:id|createdAt)":\s?)\d{13}|(?<=block \d+, )\d+(?= s old)/gu,
  /(?<=(?:"hash":"|"checksum":\s?"|Transaction +)0x)[\da-f]{64}/gu,
  /(?<="token":"native","before":"(?:\d+","after":")?)\d+/gu,
  /(?<=(?:Sender, native currency|[Bb]alance|Cost|may cost) .*)-?[\d,]*\.\d+/gu,
  /(?<=may cost )[\d.]+|(?<=Gas(?: used)? +)[\d,]+|[\d,]+(?= used when)/gu,
];

/** The text of a session with `#` for what varies. */
export const steady = (text: string): string =>
  varying.reduce((shown, pattern) => shown.replaceAll(pattern, "#"), text);

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

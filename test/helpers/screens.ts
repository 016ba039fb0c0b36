import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

/** What would differ with another build of the mocks, or on another day. */
const varying = [
  /(?<="(?:gasUsed|estimatedGas)":\s?")\d+/gu,
  /(?<="(?:id|createdAt)":\s?)\d{13}|(?<=block \d+, )\d+(?= s (?:old|ahead))/gu,
  /(?<=(?:"hash":"|"checksum":\s?"|Transaction +|transaction |^"(?=.{66}"$))0x)[\da-f]{64}/gmu,
  /(?<="token":"native","before":"(?:\d+","after":")?)\d+/gu,
  /(?<=(?:Sender, native currency|[Bb]alance|Cost|may cost)[ <].*)-?[\d,]*\.\d+/gu,
  /(?<=may cost )[\d.]+|(?<=Gas(?: used)?(?: +|<.th>\s+<td>\s+))[\d,]+|[\d,]+(?= used when)/gu,
];

/** The text of a session with `#` for what varies, which aligns nothing. */
export const steady = (text: string): string =>
  varying
    .reduce((shown, pattern) => shown.replaceAll(pattern, "#"), text)
    .replaceAll(/^.*#.*$|^Balances\n(?:.+\n)+/gmu, (lines) =>
      lines.replaceAll(/(?<=\S) {2,}/gu, "  "),
    );

const fileOf = (name: string): string =>
  path.join(import.meta.dirname, `../tasks/screens/${name}.txt`);

export const readScreen = async (name: string): Promise<string> =>
  await readFile(fileOf(name), "utf8");

/**
 * Compares with what is recorded in `test/tasks/screens/`. UPDATE_SCREENS=1
 * records it again, to be read before it is committed.
 */
export async function expectScreen(name: string, text: string): Promise<void> {
  if (process.env["UPDATE_SCREENS"] === "1") {
    await writeFile(fileOf(name), text);
  }
  expect(text).to.equal(await readScreen(name));
}

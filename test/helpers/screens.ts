import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

/** What would differ with another build of the mocks, or on another day. */
const varying = [
  /(?<="(?:gasUsed|estimatedGas)":\s?")\d+/gu,
  /(?<="(?:id|createdAt)":\s?)\d{13}|(?<=block \d+, )\d+(?= s (?:old|ahead))/gu,
  /(?<=(?:"hash":"|"checksum":\s?"|Transaction +|transaction |^"(?=.{66}"$))0x)[\da-f]{64}/gmu,
  /(?<="(?:since|preparedAt)":\s?)\d+|(?<="hashes":\s?\[\s?"0x)[\da-f]{64}/gu,
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

/** One test for each session: Stryker sees which code a test runs, not which a hook does. */
const isWhole = process.env["WHOLE_SESSIONS"] === "1";
const isRecording = process.env["UPDATE_SCREENS"] === "1";
const fileOf = (name: string): string =>
  path.join(import.meta.dirname, `../tasks/screens/${name}.txt`);
const sectionsOf = (text: string): readonly string[] => text.split(/^(?=# )/mu);

/**
 * A test for each section of a recorded session, whose first line is its title
 * after `# `. What `run` returns of the recorded text is the whole session again.
 */
export function itShows(
  name: string,
  run: (recorded: string) => Promise<string>,
): void {
  const recorded = readFileSync(fileOf(name), "utf8");
  let shown: readonly string[] = [];
  const runAll = async (): Promise<void> => {
    const text = await run(recorded);
    shown = sectionsOf(text);
    if (isRecording) {
      await writeFile(fileOf(name), text);
    }
  };
  if (isWhole) {
    it(`${name}.txt`, async () => {
      await runAll();
      for (const [index, section] of sectionsOf(recorded).entries()) {
        expect(shown[index]).to.equal(section);
      }
    });
    return;
  }
  before(runAll);
  for (const [index, section] of sectionsOf(recorded).entries()) {
    const [title = ""] = section.slice(2).split("\n");
    it(title, () => {
      expect(shown[index]).to.equal(isRecording ? shown[index] : section);
    });
  }
}

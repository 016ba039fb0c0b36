import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { diff } from "node:util";

import { expect } from "chai";

const folder = path.join(import.meta.dirname, "../tasks/goldens");
/** True in `npm run record`. */
const isRecording = process.env["npm_lifecycle_event"] === "record";
const fileOf = (name: string): string => `test/tasks/goldens/${name}.txt`;

/** The lines that differ, `-` before what is recorded and `+` before what is shown. */
function changedLines(recorded: string, shown: string): string[] {
  return diff(shown.split("\n"), recorded.split("\n")).flatMap(([side, line]) =>
    side === 0 ? [] : [side === -1 ? `- ${line}` : `+ ${line}`],
  );
}

/**
 * Compares a screen with the recorded one. `npm run record` writes it, and prints
 * how many lines changed.
 */
export async function expectGolden(name: string, shown: string): Promise<void> {
  const file = path.join(folder, `${name}.txt`);
  const recorded = await readFile(file, "utf8").catch(() => "");
  const changed = changedLines(recorded, shown);
  if (isRecording) {
    await writeFile(file, shown);
    if (changed.length > 0) {
      console.log(`${fileOf(name)}: ${changed.length} lines changed`);
    }
    return;
  }
  if (changed.length > 0) {
    expect.fail(
      `${fileOf(name)} is not what the task shows:\n${changed.join("\n")}`,
    );
  }
}

export async function goldenNames(): Promise<readonly string[]> {
  return (await readdir(folder)).map((file) => path.parse(file).name);
}

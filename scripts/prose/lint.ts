/**
 * Warns of prose that a rule is against: `file:line  rule  advice`. Exits with 1
 * if a reader of the package sees the text; comments are warnings only.
 */
import { glob, readFile } from "node:fs/promises";
import path from "node:path";

import { warningsOf } from "./rules.js";
import type { Kind } from "./rules.js";
import {
  textsOfComments,
  textsOfHelp,
  textsOfPage,
  textsOfStrings,
} from "./texts.js";
import type { Text } from "./texts.js";

// Without what is generated.
const code = ["src/!(bindings|abi)/**/*.ts", "src/*.ts", "tasks/**/*.ts"];
const sources = [
  { kind: "page", patterns: ["*.md", "docs/*.md"], textsOf: textsOfPage },
  { kind: "comment", patterns: code, textsOf: textsOfComments },
  { kind: "output", patterns: code, textsOf: textsOfStrings },
] as const;

/** The warnings of a folder, as they are printed, and how many of them are faults. */
export async function lintProse(
  root: string,
): Promise<{ readonly lines: readonly string[]; readonly faults: number }> {
  const lines: string[] = [];
  let faults = 0;
  const warn = (kind: Kind, place: string, texts: readonly Text[]): void => {
    for (const { line, text } of texts) {
      for (const { rule, advice, sentence } of warningsOf(kind, text)) {
        faults += kind === "comment" ? 0 : 1;
        lines.push(`${place}:${line}  ${rule}  ${advice}: "${sentence}"`);
      }
    }
  };
  for (const { kind, patterns, textsOf } of sources) {
    for await (const file of glob([...patterns], { cwd: root })) {
      const text = await readFile(path.join(root, file), "utf8");
      warn(kind, file.replaceAll(path.sep, "/"), textsOf(text));
    }
  }
  for (const [task, texts] of textsOfHelp()) {
    warn("help", `help of ${task}`, texts);
  }
  return { lines, faults };
}

if (process.argv[1] === import.meta.filename) {
  const root = path.resolve(import.meta.dirname, "../..");
  const { lines, faults } = await lintProse(root);
  for (const line of lines) {
    console.log(line);
  }
  process.exitCode = faults === 0 ? 0 : 1;
}

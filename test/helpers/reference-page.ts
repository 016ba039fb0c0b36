import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { repositoryRoot } from "./consumers/consumer-project.js";

export interface Section {
  /** As it stands behind the `#`s. */
  readonly heading: string;
  readonly text: string;
  /** The cells of its tables, without the rows of headings, and of its lists, "- `a`: text". */
  readonly rows: ReadonlyArray<readonly string[]>;
}

export async function readSections(name: string): Promise<readonly Section[]> {
  const page = await readFile(
    path.join(repositoryRoot, "docs", `${name}.md`),
    "utf8",
  );
  return page
    .split(/^(?=#+ )/mu)
    .slice(1)
    .map((text) => {
      const [line = ""] = text.split("\n");
      return {
        heading: line.replace(/^#+ /u, ""),
        text,
        rows: [
          ...text
            .split(/\n{2,}/u)
            .filter((block) => block.startsWith("|"))
            .flatMap((table) => table.trim().split("\n").slice(2))
            .map((row) =>
              row
                .split(/(?<!\\)\|/u)
                .slice(1, -1)
                .map((cell) => cell.trim()),
            ),
          ...[
            ...text.matchAll(
              /^- (`[^`]+`(?:, `[^`]+`)*): (.*(?:\n {2}.*)*)$/gmu,
            ),
          ].map(([, ...cells]) => cells),
        ],
      };
    });
}

/** The one section with that heading, or that begins with that word. */
export function sectionOf(
  sections: readonly Section[],
  heading: string,
): Section {
  const found = sections.filter(
    (section) =>
      section.heading === heading || section.heading.startsWith(`${heading}(`),
  );
  expect(found, `sections that are called ${heading}`).to.have.lengthOf(1);
  return found[0] ?? expect.fail();
}

/** The code in a cell, as in `` `a`, `b` ``. */
export function codeIn(cell = ""): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/gu)].map(([, code = ""]) => code);
}

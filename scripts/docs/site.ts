import { readFileSync } from "node:fs";
import path from "node:path";

import { Converter } from "typedoc";
import type { Application } from "typedoc";

/**
 * A plugin of TypeDoc: a page is called what its heading says, stands in the sidebar
 * where docs/README.md lists it, and ends with a link to the page that follows there.
 */
export function load(app: Application): void {
  const contents = readContents();
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    document.name = headingOf(
      document.content.map(({ text }) => text).join(""),
    );
    document.frontmatter["group"] = contents.get(document.name) ?? "More";
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const documents = (project.documents ?? []).filter(({ name }) =>
      contents.has(name),
    );
    const names = [...contents.keys()];
    for (const { name, content } of documents) {
      const following = names[names.indexOf(name) + 1];
      const next = documents.find((document) => document.name === following);
      if (next !== undefined) {
        content.push(
          { kind: "text", text: "\n\n---\n\nNext: " },
          { kind: "inline-tag", tag: "@link", text: next.name, target: next },
        );
      }
    }
  });
}

/** @returns The pages that docs/README.md lists, by heading, with the group of each. */
function readContents(): ReadonlyMap<string, string> {
  const file = "docs/README.md";
  return new Map(
    readFileSync(file, "utf8")
      .split(/^## /mu)
      .flatMap((section) => {
        const [group = ""] = section.split("\n");
        const links = section.matchAll(/^- \[[^\]]*\]\(([^)#]+\.md)\)/gmu);
        return [...links].map(([, link = ""]): [string, string] => {
          const page = path.join(path.dirname(file), link);
          return [headingOf(readFileSync(page, "utf8")), group];
        });
      }),
  );
}

function headingOf(page: string): string {
  const [, heading] = /^# (.*)$/mu.exec(page) ?? [];
  if (heading === undefined) {
    throw new Error(
      `A page does not begin with a heading: ${page.slice(0, 80)}`,
    );
  }
  return heading;
}

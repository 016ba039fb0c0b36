import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/gu, "-");
}

/** Without blocks of code. */
async function proseOf(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  return text.replaceAll(/^ *```.*?^ *```$/gmsu, "");
}

async function anchorsIn(file: string): Promise<readonly string[]> {
  const prose = await proseOf(file);
  return [...prose.matchAll(/^#+ (.*)$/gmu)].map(([, heading = ""]) =>
    anchorOf(heading),
  );
}

describe("pages", () => {
  const pages: string[] = [];

  before(async () => {
    for await (const page of glob("{*,{docs,examples,bench}/**/*}.md", {
      exclude: (name) => name.includes("node_modules"),
    })) {
      pages.push(page);
    }
  });

  it("each link leads to a file, and to a heading of it", async () => {
    const broken: string[] = [];
    let links = 0;
    for (const page of pages) {
      for (const [, link = ""] of (await proseOf(page)).matchAll(
        /\]\((?!\w+:)([^)\s]+)\)/gu,
      )) {
        links += 1;
        const [file = "", anchor] = link.split("#");
        const target = file === "" ? page : path.join(path.dirname(page), file);
        const leads = await readFile(target).then(
          async () =>
            anchor === undefined || (await anchorsIn(target)).includes(anchor),
          () => false,
        );
        if (!leads) {
          broken.push(`${page}: ${link}`);
        }
      }
    }
    expect(broken).to.deep.equal([]);
    expect(links).to.be.above(100);
  });

  it("each path of a test exists", async () => {
    const paths: string[] = [];
    for (const page of pages.filter((each) => each !== "CHANGELOG.md")) {
      const named = (await proseOf(page)).match(/(?<![\w/])test\/[\w./-]*\w/gu);
      paths.push(...(named ?? []));
    }
    expect(paths.filter((name) => !existsSync(name))).to.deep.equal([]);
    expect(paths.length).to.be.above(20);
  });

  it("the site has the pages of docs/README.md in the same order, then those for contributors", async () => {
    const [contents = ""] = (await readFile("docs/README.md", "utf8")).split(
      "## Questions",
    );
    const listed = [
      ...contents.matchAll(/^- \[[^\]]*\]\(([^)#]+\.md)\)/gmu),
    ].map(([, link = ""]) => path.join("docs", link));
    const settings = await readFile("typedoc.json", "utf8");
    const [, names = ""] =
      /"projectDocuments": \[([^\]]*)\]/u.exec(settings) ?? [];
    expect(
      [...names.matchAll(/"(.*)"/gu)].map(([, page]) => page),
    ).to.deep.equal([
      "docs/README.md",
      ...listed,
      "bench/README.md",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
    ]);
    expect(listed.length).to.be.above(15);
  });
});

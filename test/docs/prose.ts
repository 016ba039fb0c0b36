import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";

import { lintProse } from "../../scripts/prose/lint.js";
import { rules, warningsOf } from "../../scripts/prose/rules.js";
import { textsOfComments, textsOfPage } from "../../scripts/prose/texts.js";
import hardhatVault from "../../src/index.js";

describe("the linter of prose", () => {
  for (const { name, advice, examples, kinds } of rules) {
    it(`the rule ${name} warns of its examples, by its name and with its advice`, () => {
      for (const sentence of examples) {
        expect(warningsOf(kinds?.[0] ?? "page", sentence)).to.deep.equal([
          { rule: name, advice, sentence },
        ]);
      }
    });
  }

  it("each rule has a name of its own", () => {
    expect(new Set(rules.map(({ name }) => name)).size).to.equal(rules.length);
  });

  it("the linter warns of a sentence with too many words", () => {
    const [warning] = warningsOf("page", "word ".repeat(36));
    expect(warning).to.include({
      rule: "long-sentence",
      advice: "36 words: make two",
    });
  });

  it("the linter accepts plain sentences", () => {
    const plain = `The task finished. How do I settle with a Safe? Default: 300.
      "Documented" means documented in the specification. You know the range.
      If the node is busy, the request is retried. That needs an archive node.`;
    for (const kind of ["page", "comment", "help", "output"] as const) {
      expect(warningsOf(kind, plain)).to.deep.equal([]);
    }
  });

  it("a warning has the line on which a paragraph, a cell or a comment begins", () => {
    const page = "# Title\n\nOne.\ntwo\n\n| a | b |\n\n```sh\nx\n```\n- item";
    expect(textsOfPage(page)).to.deep.include.members([
      { line: 3, text: "One.\ntwo" },
      { line: 6, text: "b" },
      { line: 11, text: "item" },
    ]);
    const source = "const a = 1;\n// The node says no.\nconst b = 2;\n";
    expect(textsOfComments(source)).to.deep.include({
      line: 2,
      text: "The node says no.",
    });
  });

  it("a comment in which a node says something is a warning, and a page is a fault, with file and line", async () => {
    const root = await mkdtemp(path.join(tmpdir(), "prose-"));
    await mkdir(path.join(root, "src"));
    await writeFile(path.join(root, "src/a.ts"), "\n// The node says no.\n");
    const comment = await lintProse(root);
    await writeFile(path.join(root, "README.md"), "The node says no.\n");
    const page = await lintProse(root);
    await rm(root, { recursive: true });
    expect(comment).to.deep.include({ faults: 0 });
    expect(comment.lines.join()).to.match(
      /^src\/a\.ts:2 {2}no-person {2}a pro/u,
    );
    expect(page).to.deep.include({ faults: 1 });
    expect(page.lines.join()).to.include("README.md:1  no-person  ");
  });

  it("the help of a task names only options that it has", () => {
    for (const task of hardhatVault.tasks ?? []) {
      if (task.type === TaskDefinitionType.NEW_TASK) {
        const { options, positionalArguments } = task;
        const flags = Object.keys(options).map(
          (name) => `--${name.replaceAll(/(?=[A-Z])/gu, "-").toLowerCase()}`,
        );
        const all = [task, ...Object.values(options), ...positionalArguments];
        for (const { description } of all) {
          const named = description.match(/--[a-z-]+/gu) ?? [];
          expect(flags).to.include.members(named);
        }
      }
    }
  });
});

import { glob, readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";
import ts from "typescript";

import hardhatVault from "../../src/index.js";
import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** The kinds of text, with the most words of a sentence. */
const mostWords = { page: 35, comment: 35, output: 30, help: 22 } as const;

type Kind = keyof typeof mostWords;

interface Rule {
  readonly pattern: RegExp;
  readonly advice: string;
  readonly refused: readonly string[];
  readonly kinds?: readonly Kind[];
}

function useInstead(better: string, ...refused: readonly string[]): Rule {
  const words = refused.join("|").replaceAll(".", "\\.");
  const pattern = new RegExp(`\\b(?:${words})\\b`, "iu");
  return { pattern, advice: `write ${better}`, refused };
}

const rules: readonly Rule[] = [
  useInstead("again", "anew"),
  useInstead("fix or correct", "mend", "mends", "mended", "mending"),
  useInstead("next to, with, also or compared with", "beside", "besides"),
  useInstead("this many", "so many"),
  useInstead("a modern word", "hence", "thus", "thereof", "upon", "shall"),
  useInstead("any, each or if", "whoever", "whatever", "whichever", "wherever"),
  useInstead("unscaled", "on the wire"),
  useInstead("retry", "ask again", "asks again", "asked again"),
  useInstead("simulate", "rehearse", "rehearses", "rehearsal"),
  useInstead("Default: …", "unless given"),
  useInstead("to", "in order to"),
  useInstead("for example, or that is", "e.g", "i.e", "etc"),
  useInstead("except, only or without", "but for", "nothing but", "none but"),
  useInstead("nothing", "simply", "obviously", "of course", "merely"),
  {
    pattern:
      /(?:^|: )(?:(?:What|Whether|How|Where|Who|Why|Which|Whose)\b(?![^.]*\?)|That (?:an?|another|no|the)\b)/u,
    advice: "begin with the actor or the thing, not with a clause",
    refused: ["Look: What it did is done.", "That the fee is paid is final."],
  },
  {
    pattern:
      /\bof (?:it|that|those) of\b|\bth(?:at|ose) of\b.*\bth(?:at|ose) of\b/u,
    advice: "name the thing again",
    refused: ["The gas is that of the call, and the fee that of the block."],
  },
  {
    pattern:
      /(?<!\b(?:[Yy]ou|owner|have to) )\b(?:says?|said|tells?|told|knows?|knew|wants?|wanted|thinks?|thought|forgets?|learns?)\b/u,
    advice: 'a program is no person: it "returns", "prints", "names", "needs"',
    refused: ["The node says that it is busy.", "It knows no block."],
  },
  {
    pattern: /(?<!\{)\bwhere\b(?!\})/iu,
    advice: 'write "if", or name the place',
    refused: ["Deploy to a live network, where it costs money."],
    kinds: ["output", "help"],
  },
  {
    pattern: /§|\b(?:design|protocol|simpler|style)\.md\b/u,
    advice: "cite what the package has, for example IVault.calMargins",
    refused: ["As in § 4.", "As in protocol.md."],
  },
];

/** Checks the sentences of a text; a link or code counts as one word. */
function complaints(kind: Kind, source: string, text: string): string[] {
  const sentences = text
    .replaceAll(/`[^`]*`/gu, "CODE")
    .replaceAll(/\]\([^)]*\)/gu, "]")
    .replaceAll(/\{@link ([^}|]*)[^}]*\}/gu, "$1")
    .replaceAll(/\s+/gu, " ")
    .split(/(?<=[.!?;]\**) /u);
  return sentences.flatMap((sentence) => {
    const words = sentence.match(/\p{L}\S*/gu)?.length ?? 0;
    const tooLong = words > mostWords[kind] && `${words} words: make two`;
    return rules
      .filter(({ kinds = [kind] }) => kinds.includes(kind))
      .map(({ pattern, advice }) => pattern.test(sentence) && advice)
      .concat(tooLong)
      .filter((advice) => advice !== false)
      .map((advice) => `${source}: "${sentence}": ${advice}`);
  });
}

/** The paragraphs, list items and cells of a page; no headings. */
function textsOfPage(page: string): string[] {
  return page
    .replaceAll(/^ *```.*?^ *```$|<!--.*?-->/gmsu, "\n")
    .split(/\n{2,}|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\|)/u)
    .flatMap((text) => (text.startsWith("|") ? text.split(/(?<!\\)\|/u) : text))
    .map((text) => text.replace(/^\s*(?:[-*]|\d+\.)?\s+/u, ""))
    .filter((text) => !text.startsWith("#"));
}

function textsOfComments(source: string): string[] {
  return [...source.matchAll(/\/\*\*([^]*?)\*\/|((?:^ *\/\/ .*\n)+)/gmu)]
    .flatMap(([, doc = "", lines = ""]) => [
      ...doc.replaceAll(/^\s*\* ?/gmu, "").split(/\n\s*\n|\n(?=[@-])/u),
      lines.replaceAll(/^ *\/\/ /gmu, ""),
    ])
    .filter((text) => !text.startsWith("@example"))
    .map((text) => text.trim().replace(/^@\w+ /u, ""));
}

/** Strings with three blanks, except style sheets and HTML. */
function textsOfStrings(source: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) {
      texts.push(node.text);
    } else if (ts.isTemplateExpression(node)) {
      const rest = node.templateSpans.map(({ literal }) => literal.text);
      texts.push([node.head.text, ...rest].join("VALUE"));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("", source, ts.ScriptTarget.Latest));
  return texts.filter(
    (text) => /(?:\S+ ){3}/u.test(text) && !/[{}] |<\//u.test(text),
  );
}

function expectNone(found: readonly string[]): void {
  expect(found, found.join("\n")).to.have.lengthOf(0);
}

describe("prose", () => {
  // Without what is generated.
  const code = ["src/!(bindings|abi)/**/*.ts", "src/*.ts", "tasks/**/*.ts"];

  it("refuses what each rule names, and a sentence with too many words", () => {
    for (const { advice, refused, kinds } of rules) {
      for (const text of refused) {
        const found = complaints(kinds?.[0] ?? "page", "a file", text);
        expect(found).to.deep.equal([`a file: "${text}": ${advice}`]);
      }
    }
    const [found] = complaints("page", "a file", "word ".repeat(36));
    expect(found).to.include("36 words: make two");
  });

  it("accepts plain sentences", () => {
    const plain = `The task finished. How do I settle with a Safe? Default: 300.
      "Documented" means documented in the specification. You know the range.
      If the node is busy, the request is retried. That needs an archive node.`;
    for (const kind of ["page", "comment", "help", "output"] as const) {
      expectNone(complaints(kind, "a file", plain));
    }
  });

  for (const [name, kind, patterns, textsOf] of [
    ["pages", "page", ["*.md", "docs/*.md"], textsOfPage],
    ["comments", "comment", code, textsOfComments],
    ["errors and other output", "output", code, textsOfStrings],
  ] as const) {
    it(`finds no fault in ${name}`, async () => {
      let count = 0;
      const found: string[] = [];
      for await (const file of glob(patterns, { cwd: repositoryRoot })) {
        const content = await readFile(path.join(repositoryRoot, file), "utf8");
        // Titles of tests follow.
        const [text = ""] = content.split(
          "\n## Where each behaviour is tested",
        );
        const texts = textsOf(text);
        count += texts.length;
        found.push(...texts.flatMap((each) => complaints(kind, file, each)));
      }
      expectNone(found);
      expect(count).to.be.above(500);
    });
  }

  it("finds no fault in the help, and only options that the task has", () => {
    for (const task of hardhatVault.tasks ?? []) {
      if (task.type === TaskDefinitionType.NEW_TASK) {
        const { options, positionalArguments } = task;
        const flags = Object.keys(options).map(
          (name) => `--${name.replaceAll(/(?=[A-Z])/gu, "-").toLowerCase()}`,
        );
        const all = [task, ...Object.values(options), ...positionalArguments];
        for (const { description } of all) {
          expectNone(complaints("help", task.id.join(" "), description));
          const named = description.match(/--[a-z-]+/gu) ?? [];
          expect(flags).to.include.members(named);
        }
      }
    }
  });
});

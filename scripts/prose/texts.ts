import { TaskDefinitionType } from "hardhat/types/tasks";
import ts from "typescript";

import hardhatVault from "../../src/index.js";

/** A text, and the line where it begins. */
export interface Text {
  readonly line: number;
  readonly text: string;
}

const lineAt = (source: string, index: number): number =>
  source.slice(0, index).split("\n").length;

/** The paragraphs, list items and cells of a page; no headings, no code. */
export function textsOfPage(page: string): readonly Text[] {
  // The titles of tests follow this heading.
  const [prose = ""] = page.split("\n## Where each behaviour is tested");
  const blank = (code: string): string => code.replaceAll(/[^\n]/gu, "");
  const lines = prose
    .replaceAll(/^ *```.*?^ *```$|<!--.*?-->/gmsu, blank)
    .split("\n");
  const texts: Array<{ line: number; text: string }> = [];
  let isOpen = false;
  for (const [index, line] of lines.entries()) {
    const startsOne = /^\s*(?:[-*]|\d+\.) |^\|/u.test(line);
    if (line.trim() === "" || line.startsWith("#")) {
      isOpen = false;
    } else if (line.startsWith("|")) {
      for (const cell of line.split(/(?<!\\)\|/u)) {
        texts.push({ line: index + 1, text: cell.trim() });
      }
      isOpen = false;
    } else if (isOpen && !startsOne) {
      const last = texts.at(-1);
      if (last !== undefined) {
        last.text += `\n${line}`;
      }
    } else {
      const text = line.replace(/^\s*(?:[-*]|\d+\.)?\s+/u, "");
      texts.push({ line: index + 1, text });
      isOpen = true;
    }
  }
  return texts;
}

/** The comments of a source file: of each, its paragraphs and tags. */
export function textsOfComments(source: string): readonly Text[] {
  return [
    ...source.matchAll(/\/\*\*([^]*?)\*\/|((?:^ *\/\/ .*\n)+)/gmu),
  ].flatMap(({ index, 1: doc = "", 2: lines = "" }) =>
    [
      ...doc.replaceAll(/^\s*\* ?/gmu, "").split(/\n\s*\n|\n(?=[@-])/u),
      lines.replaceAll(/^ *\/\/ /gmu, ""),
    ]
      .filter((text) => !text.startsWith("@example"))
      .map((text) => ({
        line: lineAt(source, index),
        text: text.trim().replace(/^@\w+ /u, ""),
      })),
  );
}

/** The strings of a source file with three blanks, except style sheets and HTML. */
export function textsOfStrings(source: string): readonly Text[] {
  const texts: Text[] = [];
  const visit = (node: ts.Node): void => {
    const line = lineAt(source, node.pos);
    if (ts.isStringLiteralLike(node)) {
      texts.push({ line, text: node.text });
    } else if (ts.isTemplateExpression(node)) {
      const rest = node.templateSpans.map(({ literal }) => literal.text);
      texts.push({ line, text: [node.head.text, ...rest].join("VALUE") });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("", source, ts.ScriptTarget.Latest));
  return texts.filter(
    ({ text }) => /(?:\S+ ){3}/u.test(text) && !/[{}] |<\//u.test(text),
  );
}

/** The help of each task, by its name. */
export function textsOfHelp(): ReadonlyMap<string, readonly Text[]> {
  return new Map(
    (hardhatVault.tasks ?? []).flatMap((task) => {
      if (task.type !== TaskDefinitionType.NEW_TASK) {
        return [];
      }
      const { options, positionalArguments } = task;
      return [
        [
          task.id.join(" "),
          [task, ...Object.values(options), ...positionalArguments].map(
            ({ description }) => ({ line: 1, text: description }),
          ),
        ] as const,
      ];
    }),
  );
}

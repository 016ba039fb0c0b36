import measure from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

import { describeTime } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/escape.js";
import { footnotesOf, isEmpty, present, toned } from "./blocks.js";
import type { Block, Cell, Envelope, Table } from "./blocks.js";
import type { Output, Style } from "./style.js";

/** Writes blocks while a task runs, for example what happens. */
export async function say(
  { style, write }: Output,
  ...blocks: readonly Block[]
): Promise<void> {
  await write(`${renderText(blocks, style)}\n`);
}

/** Separates blocks by a blank line, except below a heading. */
export function renderText(blocks: readonly Block[], style: Style): string {
  return [...blocks, footnotesOf(blocks)]
    .filter((block) => !isEmpty(block))
    .map((block, index, all) => {
      const next = all[index + 1];
      const isAttached = block.kind === "heading" && next?.kind !== "heading";
      const end = next === undefined ? "" : isAttached ? "\n" : "\n\n";
      return renderBlock(block, style) + end;
    })
    .join("");
}

function renderBlock(block: Block, style: Style): string {
  switch (block.kind) {
    case "heading": {
      const { level, text, envelope } = block;
      const place = present([
        level === 1 &&
          style.instance !== "" &&
          `instance ${escapeUntrusted(style.instance)}`,
        envelope !== undefined && describeEnvelope(envelope),
      ]);
      const shown = place.length > 0 ? GAP + style.dim(place.join(", ")) : "";
      const rule = level === 2 ? `\n${"=".repeat(stringWidth(text))}` : "";
      return wrapText(style.title(text) + shown, style) + rule;
    }
    case "values":
      return renderValues(block.values, style);
    case "table":
      return renderTable(block, style);
    case "notes":
      return block.notes
        .map((note) => wrapText(paint(note, style), style))
        .join("\n");
    case "code":
      return block.text;
  }
}

export function describeEnvelope(envelope: Envelope): string {
  const { network, chainId, block } = envelope;
  return `${escapeUntrusted(network)} (chain ${chainId}), block ${block.number}, ${describeTime(BigInt(block.timestamp))}`;
}

function paint({ text, tone }: Cell, style: Style): string {
  return tone === undefined || text === "" ? text : style[tone](text);
}

const GAP = "  ";

/** Columns of a text; for ASCII its length, which is faster. */
function stringWidth(text: string): number {
  return /^[ -~]*$/u.test(text) ? text.length : measure(text);
}

function alignRow(
  row: readonly string[],
  widths: readonly number[],
  columns: Table["columns"] = [],
): string {
  return row
    .map((cell, column) => {
      const missing = (widths[column] ?? 0) - stringWidth(cell);
      const blanks = " ".repeat(Math.max(0, missing));
      return columns[column]?.align === "right" ? blanks + cell : cell + blanks;
    })
    .join(GAP)
    .trimEnd();
}

function widthsOf(rows: ReadonlyArray<readonly string[]>): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, stringWidth(cell));
    }
  }
  return widths;
}

/**
 * Labelled values, one per line. The note goes below the value if it is a sentence
 * or the line is too long. If a word does not fit next to the label, the value goes
 * below the label.
 */
function renderValues(
  values: ReadonlyArray<readonly [label: Cell, value: Cell]>,
  style: Style,
): string {
  const rows = values.map(([label, value]) => {
    const { text, note = "" } = value;
    return {
      label: paint(label, style),
      value: paint(value, style),
      note: note === "" ? "" : style.dim(note),
      words: joinUnits(`${text} ${note}`).split(" "),
      isSentence: note.endsWith("."),
    };
  });
  const widths = widthsOf(rows.map(({ label, value }) => [label, value]));
  const indent = " ".repeat((widths[0] ?? 0) + GAP.length);
  const room = style.width - indent.length;
  return rows
    .flatMap(({ label, value, note, words, isSentence }) => {
      const line = alignRow([label, value, note], widths);
      if (!isSentence && stringWidth(line) <= style.width) {
        return [line];
      }
      const isBeside = words.every((word) => stringWidth(word) <= room);
      const [first = "", ...others] = [value, note].flatMap((part) =>
        wrap(part, isBeside ? room : style.width - GAP.length),
      );
      return isBeside
        ? [
            alignRow([label, first], widths),
            ...others.map((rest) => indent + rest),
          ]
        : [label, ...[first, ...others].map((rest) => GAP + rest)];
    })
    .join("\n");
}

/** A table if it fits the width; else each row as labelled values. */
function renderTable({ columns, rows }: Table, style: Style): string {
  const painted = rows.map((row) => row.map((cell) => paint(cell, style)));
  const headings = columns.map(({ heading }) => heading);
  const widths = widthsOf([headings, ...painted]);
  const total = widths.reduce((sum, width) => sum + GAP.length + width);
  if (total <= style.width) {
    return [
      style.dim(alignRow(headings, widths, columns)),
      ...painted.map((row) => alignRow(row, widths, columns)),
    ].join("\n");
  }
  return rows
    .map((row) => {
      const values = row.map((cell, index) => {
        const label = toned("dim", headings[index] ?? "");
        return [label, { ...cell, note: undefined }] as const;
      });
      return renderValues(
        values.filter(([, { text }]) => text !== ""),
        style,
      );
    })
    .join("\n\n");
}

/** Breaks lines between words only. */
export function wrapText(text: string, { width }: Style): string {
  return text
    .split("\n")
    .flatMap((line) => wrap(line, width))
    .join("\n");
}

function wrap(text: string, width: number): string[] {
  if (stringWidth(text) <= width) {
    return text === "" ? [] : [text];
  }
  return wrapAnsi(joinUnits(text), width).replaceAll("\u00a0", " ").split("\n");
}

/** Cuts a text that stands on one line. */
export function cutToWidth(text: string, { width }: Style): string {
  const letters = Array.from(text);
  while (stringWidth(letters.join("")) > width) {
    letters.pop();
  }
  return letters.join("");
}

/** Keeps a number and its unit on one line, and a number and its noun. */
function joinUnits(text: string): string {
  const gap = /(?<=\d) (?=raw|tokens|%)|(?<=\b(?:block|chain|order)) (?=\d)/gu;
  return text.replaceAll(gap, "\u00a0");
}

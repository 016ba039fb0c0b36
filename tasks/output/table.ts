import measure from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

import type { Style } from "./style.js";

type Alignment = "left" | "right";

/** Blanks between two columns. */
const GAP = "  ";

/** Columns that a text takes: its length, for nearly all that is shown. */
function stringWidth(text: string): number {
  return /^[ -~]*$/u.test(text) ? text.length : measure(text);
}

function alignRow(
  row: readonly string[],
  widths: readonly number[],
  alignments: readonly Alignment[] = [],
): string {
  return row
    .map((cell, column) => {
      const missing = (widths[column] ?? 0) - stringWidth(cell);
      const blanks = " ".repeat(Math.max(0, missing));
      return alignments[column] === "right" ? blanks + cell : cell + blanks;
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

/** A label, a value and an optional note. */
export type Fact = readonly [label: string, value: string, note?: string];

/** Those of the facts that there is a value of. */
export function knownFacts(facts: readonly Fact[]): readonly Fact[] {
  return facts.filter(([, value]) => value !== "");
}

/**
 * Facts, one below the other. If a line would be too long for the terminal, the
 * note goes below the value, and a value that has no room beside its label goes
 * below that. A line is broken between words alone; a longer word, as a number
 * with many digits, is left to the terminal.
 */
export function renderFacts(facts: readonly Fact[], style: Style): string {
  const [labels = 0, values = 0] = widthsOf(
    facts.map(([label, value]) => [label, value]),
  );
  const indent = " ".repeat(labels + GAP.length);
  const room = style.width - indent.length;
  return facts
    .flatMap(([label, value, note = ""]) => {
      const noted = note === "" ? "" : style.dim(note);
      const line = alignRow([label, value, noted], [labels, values]);
      if (stringWidth(line) <= style.width) {
        return [line];
      }
      const isBeside = `${value} ${note}`
        .split(" ")
        .every((word) => stringWidth(word) <= room);
      const [first = "", ...others] = [value, noted].flatMap((part) =>
        wrap(part, isBeside ? room : style.width - GAP.length),
      );
      return isBeside
        ? [
            alignRow([label, first], [labels]),
            ...others.map((rest) => indent + rest),
          ]
        : [label, ...[first, ...others].map((rest) => GAP + rest)];
    })
    .join("\n");
}

/** A column of a table. */
export interface Column {
  readonly heading: string;
  readonly align?: Alignment;
}

/**
 * A table under headings where the terminal has room for it; else the rows one
 * below the other, and of each the heading and the value of every cell.
 */
export function renderTable(
  columns: readonly Column[],
  rows: ReadonlyArray<readonly string[]>,
  style: Style,
): string {
  const alignments = columns.map(({ align = "left" }) => align);
  const headings = columns.map(({ heading }) => heading);
  const widths = widthsOf([headings, ...rows]);
  const total = widths.reduce((sum, width) => sum + GAP.length + width);
  return total <= style.width
    ? [
        style.dim(alignRow(headings, widths, alignments)),
        ...rows.map((row) => alignRow(row, widths, alignments)),
      ].join("\n")
    : rows
        .map((row) =>
          renderFacts(
            knownFacts(
              row.map((cell, index) => [
                style.dim(headings[index] ?? ""),
                cell,
              ]),
            ),
            style,
          ),
        )
        .join("\n\n");
}

/** The same below a title; nothing where there are no rows. */
export function renderTitledTable(
  title: string,
  columns: readonly Column[],
  rows: ReadonlyArray<readonly string[]>,
  style: Style,
): readonly string[] {
  return rows.length === 0
    ? []
    : [`${style.title(title)}\n${renderTable(columns, rows, style)}`];
}

/** Text in lines that the terminal has room for, broken between words alone. */
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
  return wrapAnsi(text, width).split("\n");
}

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

/** Rows in aligned columns, however wide that becomes. */
export function alignColumns(
  rows: ReadonlyArray<readonly string[]>,
  alignments: readonly Alignment[] = [],
): string {
  const widths = widthsOf(rows);
  return rows.map((row) => alignRow(row, widths, alignments)).join("\n");
}

function alignRow(
  row: readonly string[],
  widths: readonly number[],
  alignments: readonly Alignment[],
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

/** What one row of facts says: of what, what, and what else is to know. */
export type Fact = readonly [label: string, value: string, note?: string];

/** Those of the facts that there is a value of. */
export function knownFacts(facts: readonly Fact[]): readonly Fact[] {
  return facts.filter(([, value]) => value !== "");
}

/**
 * Facts, one below the other. Where a line would be too long for the terminal,
 * its note goes below the value, and a value that has no room beside its label
 * goes below that; between words alone is a line ever broken.
 */
export function renderFacts(facts: readonly Fact[], style: Style): string {
  const [labels = 0, values = 0] = widthsOf(
    facts.map(([label, value]) => [label, value]),
  );
  const indent = " ".repeat(labels + GAP.length);
  return facts
    .flatMap(([label, text, note = ""]) => {
      const below = style.width - GAP.length;
      const value = shortenNumbers(text, below);
      const noted = note === "" ? "" : style.dim(note);
      const whole = alignRow([label, value, noted], [labels, values], []);
      if (stringWidth(whole) <= style.width) {
        return [whole];
      }
      const room = style.width - indent.length;
      const breaksNoWord = `${value} ${note}`
        .split(" ")
        .every((word) => stringWidth(word) <= room);
      // What one line below the label can hold is not broken for one beside it.
      const isBeside =
        breaksNoWord &&
        (stringWidth(value) <= room || stringWidth(value) > below);
      const lines = [value, noted].flatMap((part) =>
        wrap(part, isBeside ? room : below),
      );
      return isBeside
        ? lines.map((line, index) =>
            index === 0 ? alignRow([label, line], [labels], []) : indent + line,
          )
        : [label, ...lines.map((line) => GAP + line)];
    })
    .join("\n");
}

/** A column of a table, and how its cells are made shorter where they must be. */
export interface Column {
  readonly heading: string;
  readonly align?: Alignment;
  readonly shorten?: (cell: string) => string;
}

/**
 * A table under headings. Where it is too wide for the terminal, its cells are
 * shortened; where that does not do, every row is a few lines of its own, each
 * value beside the heading of its column.
 *
 * The last cell of a row with fewer cells than there are columns goes on over
 * the rest of the line; where that is too short, on lines of its own.
 */
export function renderTable(
  columns: readonly Column[],
  rows: ReadonlyArray<readonly string[]>,
  style: Style,
): string {
  const alignments = columns.map(({ align = "left" }) => align);
  const headings = columns.map(({ heading }) => heading);
  const isFull = (row: readonly string[]): boolean =>
    row.length === columns.length;
  const shortened = (): string[][] =>
    rows.map((row) =>
      row.map((cell, index) =>
        isFull(row) ? (columns[index]?.shorten?.(cell) ?? cell) : cell,
      ),
    );
  for (const candidate of [() => rows, shortened]) {
    const cells = candidate();
    const widths = widthsOf([
      headings,
      ...cells.map((row) => (isFull(row) ? row : row.slice(0, -1))),
    ]);
    const total = widths.reduce(
      (sum, width) => sum + GAP.length + width,
      -GAP.length,
    );
    if (total <= style.width) {
      return [
        style.dim(alignRow(headings, widths, alignments)),
        ...cells.map((row) => {
          const line = alignRow(
            row,
            isFull(row) ? widths : widths.slice(0, row.length - 1),
            alignments,
          );
          return isFull(row) || stringWidth(line) <= style.width
            ? line
            : stack([], row, style);
        }),
      ].join("\n");
    }
  }
  return rows
    .map((row) => stack(isFull(row) ? columns : [], row, style))
    .join("\n");
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

/** One row as lines of their own: its first cell, and below it all others. */
function stack(
  columns: readonly Column[],
  [title = "", ...cells]: readonly string[],
  style: Style,
): string {
  const lines = [title];
  let width = stringWidth(title);
  for (const [index, cell] of cells.entries()) {
    if (cell === "") {
      continue;
    }
    const { heading = "", shorten } = columns[index + 1] ?? {};
    const room = style.width - GAP.length - stringWidth(heading) - 1;
    const fitting =
      stringWidth(cell) > room && shorten !== undefined ? shorten(cell) : cell;
    const text = shortenNumbers(fitting, room);
    const pair = heading === "" ? text : `${style.dim(heading)} ${text}`;
    const pairWidth = stringWidth(pair);
    width += GAP.length + 1 + pairWidth;
    if (width > style.width) {
      lines.push(
        ...wrap(pair, style.width - GAP.length).map((line) => GAP + line),
      );
      width = GAP.length + pairWidth;
    } else {
      lines.push(`${lines.pop() ?? ""}${GAP} ${pair}`);
    }
  }
  return lines.join("\n");
}

/** Text in lines that the terminal has room for. */
export function wrapText(text: string, { width }: Style): string {
  return text
    .split("\n")
    .flatMap((line) => wrap(line, width))
    .join("\n");
}

/**
 * The lines of a text, broken between words alone. What is longer than a line by
 * itself is shortened, where a person is better served by its size than
 * by a break: a number, and not what is there to be copied.
 */
function wrap(text: string, width: number): string[] {
  if (stringWidth(text) <= width) {
    return text === "" ? [] : [text];
  }
  return wrapAnsi(shortenNumbers(text, width), width).split("\n");
}

/** Numbers that are longer than a line, by their size, as in ≈1.15792e77. */
export function shortenNumbers(text: string, width: number): string {
  return stringWidth(text) <= width
    ? text
    : text
        .split(" ")
        .map((word) => (stringWidth(word) > width ? shortenNumber(word) : word))
        .join(" ");
}

function shortenNumber(word: string): string {
  const [, sign = "", grouped] =
    /^([+-]?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{7,})(?=\.|$)/u.exec(word) ?? [];
  const digits = grouped?.replaceAll(",", "");
  return digits === undefined
    ? word
    : `≈${sign}${digits.slice(0, 1)}.${digits.slice(1, 6)}e${digits.length - 1}`;
}

import { WriteStream } from "node:tty";
import { styleText } from "node:util";

import measure from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

import { describeTime } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/foreign-text.js";
import type { BlockInfo } from "../../src/rpc/blocks.js";

/** The source of a document's values. */
export interface Envelope {
  readonly network: string;
  readonly chainId: number;
  readonly block: BlockInfo;
}

export type Tone = "good" | "bad" | "warn" | "dim";

export interface Cell {
  /** Text from the chain in it is escaped already. */
  readonly text: string;
  readonly tone?: Tone | undefined;
  /** Shown after or below the text, but not in a table. */
  readonly note?: string | undefined;
  /** Shown once, below all parts. */
  readonly footnote?: string | undefined;
}

/** A plain text or a cell, for the functions below; a part has cells only. */
export type Content = string | Cell;

export type LabelledValue = readonly [label: Content, value: Content];

/** An item of a list; false, as of `isOld && "…"`, leaves it out. */
type Optional<Item> = Item | false;

export function present<Item>(items: ReadonlyArray<Optional<Item>>): Item[] {
  return items.filter((item): item is Item => item !== false);
}

export interface Table {
  readonly kind: "table";
  readonly columns: ReadonlyArray<{
    readonly heading: string;
    readonly align: "left" | "right";
  }>;
  readonly rows: ReadonlyArray<readonly Cell[]>;
}

/** A part of a screen or of the report. */
export type Part =
  | {
      readonly kind: "heading";
      /** 1: the document, 2: a chapter, 3: a section. */
      readonly level: 1 | 2 | 3;
      readonly text: string;
      readonly envelope?: Envelope | undefined;
    }
  | {
      readonly kind: "values";
      readonly rows: ReadonlyArray<readonly [label: Cell, value: Cell]>;
    }
  | Table
  | { readonly kind: "notes"; readonly rows: ReadonlyArray<readonly [Cell]> }
  /** For a program: neither wrapped nor coloured. */
  | { readonly kind: "code"; readonly text: string };

export function title(text: string, envelope?: Envelope): Part {
  return { kind: "heading", level: 1, text, envelope };
}

export function chapter(text: string): Part {
  return { kind: "heading", level: 2, text };
}

export function labelledValues(
  values: ReadonlyArray<Optional<LabelledValue>>,
): Part {
  const rows = present(values).map(
    ([label, value]) => [toCell(label), toCell(value)] as const,
  );
  return { kind: "values", rows };
}

/** Aligns columns of numbers to the right. */
export function table(
  headings: readonly string[],
  contents: ReadonlyArray<readonly Content[]>,
): Table {
  const rows = contents.map((row) => row.map(toCell));
  const columns = headings.map((heading, column) => {
    const isNumber = rows.some((row) =>
      /^\d(?!x)/u.test(row[column]?.text ?? ""),
    );
    return { heading, align: isNumber ? "right" : "left" } as const;
  });
  return { kind: "table", columns, rows };
}

export function notes(...contents: ReadonlyArray<Optional<Content>>): Part {
  const rows = present(contents).map((note) => [toCell(note)] as const);
  return { kind: "notes", rows };
}

export function code(text: string): Part {
  return { kind: "code", text };
}

/** A heading and what stands below it; nothing if that is empty. */
export function section(text: string, part: Part): readonly Part[] {
  return isEmpty(part) ? [] : [{ kind: "heading", level: 3, text }, part];
}

export function toned(tone: Tone, text: string, note?: string): Cell {
  return { text, tone, note };
}

function toCell(content: Content): Cell {
  return typeof content === "string" ? { text: content } : content;
}

export function footnotesOf(parts: readonly Part[]): Part {
  const texts = parts
    .flatMap((part) => ("rows" in part ? part.rows.flat() : []))
    .flatMap(({ footnote }) => footnote ?? []);
  return notes(...[...new Set(texts)].map((text) => toned("dim", text)));
}

export function isEmpty(part: Part): boolean {
  return "rows" in part && part.rows.length === 0;
}

/** Colours and width of a stream. */
export interface Style {
  /** Columns of a terminal; Infinity for a file or a pipe. */
  readonly width: number;
  /** Named in titles; may be empty. */
  readonly instance: string;
  readonly paint: (tone: Tone | "title", text: string) => string;
}

export interface Output {
  readonly style: Style;
  /**
   * Waits while the buffer of the stream is full.
   *
   * @returns False if the reader has closed the pipe (`| head`).
   * @throws VaultError VAULT_OUTPUT_NOT_WRITTEN, for example for a full disk
   */
  readonly write: (text: string) => Promise<boolean>;
}

const formats = {
  title: "bold",
  dim: "dim",
  good: "green",
  bad: "red",
  warn: "yellow",
} as const;

/** Node decides about colours: `FORCE_COLOR`, `NO_COLOR`, `TERM`. */
export function createStyle(
  { isTTY, columns = 0 }: { isTTY?: boolean; columns?: number | undefined },
  instance?: unknown,
): Style {
  const isColoured =
    (isTTY === true || process.env["FORCE_COLOR"] !== undefined) &&
    WriteStream.prototype.getColorDepth() > 1;
  // A terminal of unknown width may report 0 columns.
  const width = columns === 0 ? 80 : columns;
  return {
    width: isTTY === true ? width : Infinity,
    instance: typeof instance === "string" ? instance : "",
    paint: (tone, text) =>
      isColoured
        ? styleText(formats[tone], text, { validateStream: false })
        : text,
  };
}

/** Writes what is not empty of some parts while a task runs, and a line break. */
export async function say(
  { style, write }: Output,
  ...parts: readonly Part[]
): Promise<void> {
  if (!parts.every(isEmpty)) {
    await write(`${renderText(parts, style)}\n`);
  }
}

/** Separates parts by a blank line, except below a heading. */
export function renderText(parts: readonly Part[], style: Style): string {
  return [...parts, footnotesOf(parts)]
    .filter((part) => !isEmpty(part))
    .map((part, index, all) => {
      const next = all[index + 1];
      const isAttached = part.kind === "heading" && next?.kind !== "heading";
      const end = next === undefined ? "" : isAttached ? "\n" : "\n\n";
      return renderPart(part, style) + end;
    })
    .join("");
}

function renderPart(part: Part, style: Style): string {
  switch (part.kind) {
    case "heading": {
      const { level, text, envelope } = part;
      const place = present([
        level === 1 &&
          style.instance !== "" &&
          `instance ${escapeUntrusted(style.instance)}`,
        envelope !== undefined && describeEnvelope(envelope),
      ]).join(", ");
      const shown = place === "" ? "" : GAP + style.paint("dim", place);
      const rule = level === 2 ? `\n${"=".repeat(measure(text))}` : "";
      return wrapText(style.paint("title", text) + shown, style) + rule;
    }
    case "values":
      return renderValues(part.rows, style);
    case "table":
      return renderTable(part, style);
    case "notes":
      return part.rows
        .map(([note]) => wrapText(paint(note, style), style))
        .join("\n");
    case "code":
      return part.text;
  }
}

export function describeEnvelope(envelope: Envelope): string {
  const { network, chainId, block } = envelope;
  return `${escapeUntrusted(network)} (chain ${chainId}), block ${block.number}, ${describeTime(BigInt(block.timestamp))}`;
}

function paint({ text, tone }: Cell, style: Style): string {
  return tone === undefined || text === "" ? text : style.paint(tone, text);
}

const GAP = "  ";

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, measure(text)), 0);
}

/**
 * Labelled values, one per line. A note goes below its value if it is a sentence or does not
 * fit. If a word does not fit next to the label, the value goes below the label.
 */
function renderValues(
  values: ReadonlyArray<readonly [label: Cell, value: Cell]>,
  style: Style,
): string {
  const labels = widest(values.map(([{ text }]) => text));
  const room = style.width - labels - GAP.length;
  return values
    .flatMap(([label, value]) => {
      const { note = "" } = value;
      const parts = [paint(value, style), paint(toned("dim", note), style)];
      const whole = parts.join(GAP).trimEnd();
      const words = keepCommands(`${value.text} ${note}`).split(" ");
      const isBelow = widest(words) > room;
      const width = isBelow ? style.width - GAP.length : room;
      const isOne = measure(whole) <= room && !note.endsWith(".");
      const lines = isOne
        ? [whole]
        : parts.flatMap((part) => wrap(part, width));
      const head = paint(label, style);
      if (isBelow) {
        return [head, ...lines.map((line) => GAP + line)];
      }
      const blanks = " ".repeat(labels - measure(label.text));
      return lines.map((line, at) => {
        const beside = at === 0 ? head + blanks : " ".repeat(labels);
        return beside + GAP + line;
      });
    })
    .map((line) => line.trimEnd())
    .join("\n");
}

/** A table if it fits the width; else each row as labelled values. */
function renderTable({ columns, rows }: Table, style: Style): string {
  const headings = columns.map(({ heading }) => toned("dim", heading));
  const all = [headings, ...rows];
  const widths = columns.map((_, column) =>
    widest(all.map((row) => row[column]?.text ?? "")),
  );
  const lines = all.map((row) =>
    row
      .map((cell, column) => {
        const blanks = " ".repeat((widths[column] ?? 0) - measure(cell.text));
        const text = paint(cell, style);
        return columns[column]?.align === "right"
          ? blanks + text
          : text + blanks;
      })
      .join(GAP)
      .trimEnd(),
  );
  if (widest(lines) <= style.width) {
    return lines.join("\n");
  }
  return rows
    .map((row) => {
      const values = row.map(({ text, tone }, column) => {
        const { heading = "" } = columns[column] ?? {};
        return [toned("dim", heading), { text, tone }] as const;
      });
      const shown = values.filter(([, { text }]) => text !== "");
      return renderValues(shown, style);
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
  if (measure(text) <= width) {
    return text === "" ? [] : [text];
  }
  const lines = wrapAnsi(keepCommands(text), width);
  return lines.replaceAll("\u00a0", " ").split("\n");
}

/** Keeps a command on one line, so that it can be copied. */
function keepCommands(text: string): string {
  return text.replaceAll(/`npx [^`]*`/gu, (command) =>
    command.replaceAll(" ", "\u00a0"),
  );
}

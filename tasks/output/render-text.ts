import { WriteStream } from "node:tty";
import { styleText } from "node:util";

import measure from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

import { describeTime } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/escape.js";
import { footnotesOf, isEmpty, present, toned } from "./blocks.js";
import type { Block, Cell, Envelope, Table } from "./blocks.js";

/** Colours and width of a stream. */
export interface Style {
  /** Columns of a terminal; Infinity for a file or a pipe. */
  readonly width: number;
  /** Named in titles; may be empty. */
  readonly instance: string;
  title(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
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

/**
 * A `NO_COLOR` that is not empty turns colours off, even with `FORCE_COLOR`
 * (unlike Node). Otherwise `FORCE_COLOR` turns them on (0: off), even without a
 * terminal. Otherwise Node decides for a terminal.
 */
export function createStyle(
  { isTTY, columns }: { isTTY?: boolean; columns?: number | undefined },
  instance?: unknown,
): Style {
  const coloured =
    (isTTY === true || process.env["FORCE_COLOR"] !== undefined) &&
    (process.env["NO_COLOR"] ?? "") === "" &&
    WriteStream.prototype.getColorDepth() > 1;
  const styled =
    (format: Parameters<typeof styleText>[0]) =>
    (text: string): string =>
      coloured ? styleText(format, text, { validateStream: false }) : text;
  return {
    width:
      isTTY === true
        ? // A terminal of unknown width may report 0 columns.
          columns === undefined || columns === 0
          ? 80
          : columns
        : Infinity,
    instance: typeof instance === "string" ? instance : "",
    title: styled("bold"),
    dim: styled("dim"),
    good: styled("green"),
    bad: styled("red"),
    warn: styled("yellow"),
  };
}

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
      ]).join(", ");
      const shown = place === "" ? "" : GAP + style.dim(place);
      const rule = level === 2 ? `\n${"=".repeat(stringWidth(text))}` : "";
      return wrapText(style.title(text) + shown, style) + rule;
    }
    case "values":
      return renderValues(block.rows, style);
    case "table":
      return renderTable(block, style);
    case "notes":
      return block.rows
        .map(([note]) => wrapText(paint(note, style), style))
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

/** A line for each row, with its cells below each other. */
function alignRows(
  rows: ReadonlyArray<readonly string[]>,
  columns: Table["columns"] = [],
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, stringWidth(cell));
    }
  }
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const blanks = " ".repeat((widths[column] ?? 0) - stringWidth(cell));
        const isRight = columns[column]?.align === "right";
        return isRight ? blanks + cell : cell + blanks;
      })
      .join(GAP)
      .trimEnd(),
  );
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
  const rows = values.map(([label, value]) => [
    paint(label, style),
    paint(value, style),
    paint({ text: value.note ?? "", tone: "dim" }, style),
  ]);
  const lines = alignRows(rows);
  const labels = Math.max(0, ...values.map(([{ text }]) => stringWidth(text)));
  const room = style.width - labels - GAP.length;
  return values
    .flatMap(([{ text: label }, { text, note = "" }], index) => {
      const line = lines[index] ?? "";
      if (!note.endsWith(".") && stringWidth(line) <= style.width) {
        return [line];
      }
      const [head = "", ...parts] = rows[index] ?? [];
      const words = joinUnits(`${text} ${note}`).split(" ");
      if (words.some((word) => stringWidth(word) > room)) {
        const below = parts.flatMap((part) =>
          wrap(part, style.width - GAP.length),
        );
        return [head, ...below.map((part) => GAP + part)];
      }
      const beside = head + " ".repeat(labels - stringWidth(label));
      return parts
        .flatMap((part) => wrap(part, room))
        .map(
          (part, at) => (at === 0 ? beside : " ".repeat(labels)) + GAP + part,
        );
    })
    .join("\n");
}

/** A table if it fits the width; else each row as labelled values. */
function renderTable({ columns, rows }: Table, style: Style): string {
  const headings = columns.map(({ heading }) => style.dim(heading));
  const painted = rows.map((row) => row.map((cell) => paint(cell, style)));
  const lines = alignRows([headings, ...painted], columns);
  if (lines.every((line) => stringWidth(line) <= style.width)) {
    return lines.join("\n");
  }
  return rows
    .map((row) => {
      const values = row.map(({ text, tone }, index) => {
        const label = toned("dim", columns[index]?.heading ?? "");
        return [label, { text, tone }] as const;
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

/** Keeps a number and its unit on one line, a number and its noun, and a command. */
function joinUnits(text: string): string {
  const gap = /(?<=\d) (?=raw|tokens|%)|(?<=\b(?:block|chain|order)) (?=\d)/gu;
  return text
    .replaceAll(gap, "\u00a0")
    .replaceAll(/`npx [^`]*`/gu, (command) =>
      command.replaceAll(" ", "\u00a0"),
    );
}

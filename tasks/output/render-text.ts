import { WriteStream } from "node:tty";
import { styleText } from "node:util";

import measure from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

import { describeTime } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/foreign-text.js";
import { footnotesOf, isEmpty, present, toned } from "./blocks.js";
import type { Block, Cell, Envelope, Table, Tone } from "./blocks.js";

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

/** Writes what is not empty of some blocks while a task runs, and a line break. */
export async function say(
  { style, write }: Output,
  ...blocks: readonly Block[]
): Promise<void> {
  if (!blocks.every(isEmpty)) {
    await write(`${renderText(blocks, style)}\n`);
  }
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
      const shown = place === "" ? "" : GAP + style.paint("dim", place);
      const rule = level === 2 ? `\n${"=".repeat(measure(text))}` : "";
      return wrapText(style.paint("title", text) + shown, style) + rule;
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

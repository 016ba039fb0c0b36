import { WriteStream } from "node:tty";
import { styleText } from "node:util";

/** How text has to look on a stream: its colours and its width. */
export interface Style {
  /** Columns of a terminal; Infinity where lines have no end, as in a file. */
  readonly width: number;
  title(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

/** What is asked of a stream to know how to write to it. */
export interface StyledStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The width of a terminal that does not tell its own. */
const USUAL_WIDTH = 80;

/**
 * The style of a stream. Colours are off where `NO_COLOR` is set and not empty,
 * whatever `FORCE_COLOR` says, unlike Node; else `FORCE_COLOR` turns them on,
 * also where there is no terminal or a dumb one (0 turns them off); else a
 * terminal is coloured as Node would colour it, and not with `TERM=dumb`.
 */
export function createStyle({ isTTY, columns }: StyledStream): Style {
  const coloured =
    (isTTY === true || process.env["FORCE_COLOR"] !== undefined) &&
    (process.env["NO_COLOR"] ?? "") === "" &&
    WriteStream.prototype.getColorDepth() > 1;
  const paint =
    (format: Parameters<typeof styleText>[0]) =>
    (text: string): string =>
      coloured ? styleText(format, text, { validateStream: false }) : text;
  return {
    width:
      isTTY === true
        ? // A terminal that cannot tell its width may say 0.
          columns === undefined || columns === 0
          ? USUAL_WIDTH
          : columns
        : Infinity,
    title: paint("bold"),
    dim: paint("dim"),
    good: paint("green"),
    bad: paint("red"),
    warn: paint("yellow"),
  };
}

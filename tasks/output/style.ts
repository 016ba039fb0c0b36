import { styleText } from "node:util";

/** Colours for a stream, or none where it is not a terminal. */
export interface Style {
  title(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

/**
 * The colours of a stream. Only a terminal gets any, and `NO_COLOR`, whatever
 * its value, turns them off.
 */
export function createStyle({
  isTTY,
}: {
  readonly isTTY?: boolean | undefined;
}): Style {
  const coloured = isTTY === true && process.env["NO_COLOR"] === undefined;
  const paint =
    (format: Parameters<typeof styleText>[0]) =>
    (text: string): string =>
      coloured ? styleText(format, text, { validateStream: false }) : text;
  return {
    title: paint("bold"),
    dim: paint("dim"),
    good: paint("green"),
    bad: paint("red"),
    warn: paint("yellow"),
  };
}

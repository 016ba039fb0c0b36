import { WriteStream } from "node:tty";
import { styleText } from "node:util";

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
  const paint =
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
    title: paint("bold"),
    dim: paint("dim"),
    good: paint("green"),
    bad: paint("red"),
    warn: paint("yellow"),
  };
}

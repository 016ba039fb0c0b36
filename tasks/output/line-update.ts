/** Shows a line, in place of the one that it showed before. */
export interface LineUpdate {
  (line: string): void;
  clear(): void;
}

/** Each line in the place of the one before. */
export async function redrawInPlace(
  stderr: NodeJS.WritableStream,
): Promise<LineUpdate> {
  // Most runs have no terminal, and need not load it.
  const { createLogUpdate } = await import("log-update");
  // The cursor stays: Ctrl-C would leave the terminal without one.
  const redraw = createLogUpdate(stderr, { showCursor: true });
  let isShown = false;
  const update = (line: string): void => {
    isShown = true;
    redraw(line);
  };
  const clear = (): void => {
    // What is written often beside it need not move the cursor as often.
    if (isShown) {
      isShown = false;
      redraw.clear();
    }
  };
  return Object.assign(update, { clear });
}

/** The first line alone: it cannot be taken back. */
export function writeOnce(stderr: NodeJS.WritableStream): LineUpdate {
  let isWritten = false;
  const update = (line: string): void => {
    if (!isWritten) {
      isWritten = true;
      stderr.write(`${line}\n`);
    }
  };
  return Object.assign(update, { clear: () => undefined });
}

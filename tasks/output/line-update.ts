import type { createLogUpdate } from "log-update";

/** What shows each line in the place of the one before. */
export async function redrawInPlace(
  stderr: NodeJS.WritableStream,
): Promise<ReturnType<typeof createLogUpdate>> {
  // Most runs have no terminal, and need not load it.
  const logUpdate = await import("log-update");
  // The cursor stays: Ctrl-C would leave the terminal without one.
  return logUpdate.createLogUpdate(stderr, { showCursor: true });
}

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, realpath, rename, rm, stat } from "node:fs/promises";

import { onExit } from "signal-exit";

/**
 * Creates or replaces a file once its whole text is written, on disk when this returns.
 * For a link, the file that it points to is replaced. A replaced file keeps its mode and
 * its owner.
 *
 * @param mode Of a new file.
 * @throws Error of the system, or of the text's iterator: the file is then as before
 */
export async function replaceFile(
  file: string,
  text: string | AsyncIterable<string>,
  mode?: number,
): Promise<void> {
  const name = await realpath(file).catch(() => file);
  const replaced = await stat(name).catch(() => undefined);
  // In the same folder, so that renaming is atomic. A process id is not unique
  // in containers: an earlier process may have left a file with its id.
  const temporary = `${name}.${randomUUID().slice(0, 8)}.partial`;
  const stopListening = onExit(() => {
    rmSync(temporary, { force: true });
  });
  try {
    const output = await open(temporary, "wx", mode);
    try {
      if (replaced !== undefined) {
        // Only root can, for the file of another user.
        await output.chown(replaced.uid, replaced.gid).catch(() => undefined);
        // `open` applied the umask.
        await output.chmod(replaced.mode);
      }
      await output.writeFile(text);
      await output.sync();
    } finally {
      await output.close();
    }
    await rename(temporary, name);
  } finally {
    await rm(temporary, { force: true });
    stopListening();
  }
}

/**
 * Refuses folders, pipes and devices: reading a pipe or a device may never end.
 *
 * @throws Error unless the path is a regular file or does not exist
 */
export async function requireRegularFile(file: string): Promise<void> {
  const found = await stat(file).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") {
      return undefined;
    }
    throw error;
  });
  if (found !== undefined && !found.isFile()) {
    throw new Error(
      found.isDirectory() ? "it is a folder" : "it is not a regular file",
    );
  }
}

/** Returns the code of an error of the system, else "". */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

import { readlink, realpath, stat } from "node:fs/promises";
import path from "node:path";

/**
 * Refuses folders, pipes and devices: reading a pipe or a device may never end.
 *
 * @throws Error unless the path is a regular file or does not exist
 */
export async function requireRegularFile(file: string): Promise<void> {
  const found = await stat(file).catch(ignoreMissing);
  if (found !== undefined && !found.isFile()) {
    throw new Error(
      found.isDirectory() ? "it is a folder" : "it is not a regular file",
    );
  }
}

/** Resolves the links to a file, which may not exist yet. */
export async function destinationOf(file: string): Promise<string> {
  const existing = await realpath(file).catch(ignoreMissing);
  if (existing !== undefined) {
    return existing;
  }
  const folder = path.dirname(file);
  // The root folder exists.
  const parent = folder === file ? folder : await destinationOf(folder);
  const target = await readlink(file).catch(() => undefined);
  return target === undefined
    ? path.join(parent, path.basename(file))
    : await destinationOf(path.resolve(parent, target));
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") {
    return undefined;
  }
  throw error;
}

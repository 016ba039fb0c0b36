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

/**
 * Returns whether a file is in a folder or below it. A file on another drive of
 * Windows is not.
 *
 * @param rules Those of paths, for tests; default: of this system
 */
export function isWithin(
  folder: string,
  file: string,
  rules: Pick<typeof path, "isAbsolute" | "relative" | "sep"> = path,
): boolean {
  const way = rules.relative(folder, file);
  return !rules.isAbsolute(way) && way.split(rules.sep)[0] !== "..";
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

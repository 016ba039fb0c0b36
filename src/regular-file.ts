import { readlink, realpath, stat } from "node:fs/promises";
import path from "node:path";

/**
 * Fails for what is there but no file: reading a pipe would wait for whoever
 * writes to it, reading a device never end.
 *
 * @throws Error that says what it is; none where nothing is there
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
 * Fails for a file that this package keeps in a project, if it is none or lies
 * elsewhere: a symbolic link in somebody's repository must not choose what of
 * the machine's is read, or replaced.
 *
 * @throws Error that says what it is; none where nothing is there
 */
export async function requireFileOfProject(
  projectRoot: string,
  file: string,
): Promise<void> {
  const root = await realpath(projectRoot);
  const place = await destinationOf(file);
  if (path.relative(root, place).split(path.sep)[0] === "..") {
    throw new Error("a symbolic link leads out of the project");
  }
  await requireRegularFile(file);
}

/** Where a file is, or would be, whatever links lead there. */
export async function destinationOf(file: string): Promise<string> {
  const existing = await realpath(file).catch(ignoreMissing);
  if (existing !== undefined) {
    return existing;
  }
  const folder = path.dirname(file);
  // The root of all is there.
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

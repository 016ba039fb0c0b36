import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, readdir, realpath, rm } from "node:fs/promises";
import path from "node:path";

import writeFileAtomic from "write-file-atomic";

import { toJsonValue } from "./json.js";
import type { Schema } from "./recorded-values.js";
import { destinationOf, requireRegularFile } from "./regular-file.js";

/** The folder, from the root of a project, of the files that this package keeps. */
export const PROJECT_FOLDER = "vault-deployments";

/** Names of the files that there are; none where the folder cannot be read. */
export async function listProjectFiles(
  projectRoot: string,
): Promise<readonly string[]> {
  return await readdir(path.join(projectRoot, PROJECT_FOLDER)).catch(() => []);
}

/**
 * Writes a file as JSON; it appears whole or not at all.
 *
 * @throws Error of the system, or one that says what stands there
 */
export async function writeProjectFile(
  projectRoot: string,
  file: string,
  value: unknown,
  mode?: number,
): Promise<void> {
  const place = await locate(projectRoot, file);
  await mkdir(path.dirname(place), { recursive: true });
  await writeFileAtomic(
    place,
    `${JSON.stringify(toJsonValue(value), undefined, 2)}\n`,
    { mode },
  );
}

/**
 * Writes a file that must not exist yet, on disk when this returns. Of several
 * processes that do this at once, one succeeds.
 *
 * @throws Error of the system; its code is EEXIST if the file exists
 */
export async function createProjectFile(
  projectRoot: string,
  file: string,
  value: unknown,
  mode: number,
): Promise<void> {
  // A link is exclusive as the flag "wx" is, and the file is never seen half
  // written, not even after a crash.
  const written = `${file}.${randomUUID()}`;
  await writeProjectFile(projectRoot, written, value, mode);
  try {
    await link(
      path.join(projectRoot, written),
      await locate(projectRoot, file),
    );
  } finally {
    await rm(path.join(projectRoot, written));
  }
}

/**
 * @param invalid Makes the error of a file that cannot be used.
 * @returns Undefined where there is no file.
 */
export async function readProjectFile<Value>(
  projectRoot: string,
  file: string,
  schema: Schema<Value>,
  invalid: (problem: string, cause: unknown) => Error,
): Promise<Value | undefined> {
  let text: string;
  try {
    text = await readFile(await locate(projectRoot, file), "utf8");
  } catch (error) {
    if (
      error instanceof Error &&
      "code" in error &&
      (error.code === "ENOENT" || error.code === "ENOTDIR")
    ) {
      return undefined;
    }
    throw invalid(`it cannot be read (${reasonOf(error)})`, error);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid("it is not JSON", error);
  }
  const { success, data, error } = schema.safeParse(json);
  if (!success) {
    const [issue] = error.issues;
    const { path: place = [], message = "invalid" } = issue ?? {};
    throw invalid(`${place.join(".")}: ${message}`, error);
  }
  return data;
}

/** Without the paths of this machine, which Node's errors name. */
export function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.replace(/, \w+ '.*$/su, "");
}

/**
 * Fails for what is no file or lies elsewhere: a symbolic link in somebody's
 * repository must not choose what of the machine's is read, or replaced.
 */
async function locate(projectRoot: string, file: string): Promise<string> {
  const place = path.join(projectRoot, file);
  const root = await realpath(projectRoot);
  const destination = await destinationOf(place);
  if (path.relative(root, destination).split(path.sep)[0] === "..") {
    throw new Error("a symbolic link leads out of the project");
  }
  await requireRegularFile(place);
  return place;
}

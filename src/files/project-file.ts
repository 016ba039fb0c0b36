import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, readdir, rm } from "node:fs/promises";
import path from "node:path";

import { toJsonValue } from "../json.js";
import type { Schema } from "./recorded-values.js";
import { codeOf, replaceFile, requireRegularFile } from "./replace-file.js";

/** The folder of this package's files, relative to the project's root. */
export const PROJECT_FOLDER = "vault-deployments";

/** @returns Names of the files; none if the folder cannot be read. */
export async function listProjectFiles(
  projectRoot: string,
): Promise<readonly string[]> {
  return await readdir(path.join(projectRoot, PROJECT_FOLDER)).catch(() => []);
}

/**
 * Writes a file as JSON, atomically.
 *
 * @throws Error of the system, or if the path is not a regular file
 */
export async function writeProjectFile(
  projectRoot: string,
  file: string,
  value: unknown,
  mode?: number,
): Promise<void> {
  const place = await locate(projectRoot, file);
  await mkdir(path.dirname(place), { recursive: true });
  await replaceFile(place, toText(value), mode);
}

function toText(value: unknown): string {
  return `${JSON.stringify(toJsonValue(value), undefined, 2)}\n`;
}

/**
 * Writes a new file, on disk when this returns. If several processes create the
 * same file, one of them succeeds.
 *
 * @throws Error of the system; its code is EEXIST if the file exists
 */
export async function createProjectFile(
  projectRoot: string,
  file: string,
  value: unknown,
  mode: number,
): Promise<void> {
  const place = await locate(projectRoot, file);
  const whole = `${file}.${randomUUID()}`;
  await writeProjectFile(projectRoot, whole, value, mode);
  try {
    // A link never shows a half-written file, not even after a crash.
    await link(path.join(projectRoot, whole), place).catch(async () => {
      // exFAT and some shares have no hard links. A file that exists fails again.
      const handle = await open(place, "wx", mode);
      try {
        await handle.writeFile(toText(value));
        await handle.sync();
      } finally {
        await handle.close();
      }
    });
  } finally {
    await rm(path.join(projectRoot, whole));
  }
}

/**
 * @param invalid Makes the error for a file that cannot be used.
 * @returns Undefined if there is no file.
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
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) {
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
    const { path: place = [], message = "invalid" } = error.issues[0] ?? {};
    const where = place.length === 0 ? "" : `${place.join(".")}: `;
    throw invalid(`${where}${message}`, error);
  }
  return data;
}

/** Returns the message of an error without the paths that Node adds. */
export function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.replace(/, \w+ '.*$/su, "");
}

/** Returns the absolute path. Links are followed: the folder may be on another disk. */
async function locate(projectRoot: string, file: string): Promise<string> {
  const place = path.join(projectRoot, file);
  await requireRegularFile(place);
  return place;
}

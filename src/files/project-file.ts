import { randomUUID } from "node:crypto";
import {
  access,
  chmod,
  chown,
  constants,
  copyFile,
  link,
  mkdir,
  open,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import path from "node:path";

import { MaxUint256, isHexString } from "ethers";
import { z } from "zod";

import { asRecord, toJsonValue } from "../json.js";
import type { Address, Hex, VaultRound } from "../protocol/index.js";

/** The folder of this package's files, relative to the project's root. */
export const PROJECT_FOLDER = "vault-deployments";

/** @returns Names of the files; none if the folder cannot be read. */
export async function listProjectFiles(
  projectRoot: string,
): Promise<readonly string[]> {
  return await readdir(path.join(projectRoot, PROJECT_FOLDER)).catch(() => []);
}

/**
 * Finds out if this process may create files of this package: in their folder, or the folder
 * itself.
 *
 * @returns Why not; undefined if it may.
 */
export async function findWhyNotWritable(
  projectRoot: string,
): Promise<string | undefined> {
  const mode = constants.W_OK | constants.X_OK;
  try {
    await access(path.join(projectRoot, PROJECT_FOLDER), mode).catch(
      async (error: unknown) => {
        if (!isMissing(error)) {
          throw error;
        }
        await access(projectRoot, mode);
      },
    );
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/**
 * Writes a file as JSON, atomically. Links are followed: the folder may be on another disk.
 *
 * @throws Error of the system, or if the path is not a regular file
 */
export async function writeProjectFile(
  projectRoot: string,
  file: string,
  value: unknown,
  mode?: number,
): Promise<void> {
  const place = path.join(projectRoot, file);
  await requireRegularFile(place);
  await mkdir(path.dirname(place), { recursive: true });
  const text = `${JSON.stringify(toJsonValue(value), undefined, 2)}\n`;
  await replaceFile(place, text, mode);
}

/**
 * Writes a new file. If several processes create the same file, one of them succeeds.
 *
 * @throws Error of the system; its code is EEXIST if the file exists
 */
export async function createProjectFile(
  projectRoot: string,
  file: string,
  value: unknown,
  mode: number,
): Promise<void> {
  const whole = `${file}.${randomUUID()}`;
  await writeProjectFile(projectRoot, whole, value, mode);
  const from = path.join(projectRoot, whole);
  const to = path.join(projectRoot, file);
  try {
    // A link never shows a half-written file, not even after a crash. exFAT and some shares
    // have none; a file that exists fails again.
    await link(from, to).catch(async () => {
      await copyFile(from, to, constants.COPYFILE_EXCL);
      await sync(to);
    });
    await sync(path.dirname(to));
  } finally {
    await rm(from);
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
  const place = path.join(projectRoot, file);
  let json: unknown;
  try {
    await requireRegularFile(place);
    json = JSON.parse(await readFile(place, "utf8"));
  } catch (error) {
    if (isMissing(error)) {
      return undefined;
    }
    throw error instanceof SyntaxError
      ? invalid("it is not JSON", error)
      : invalid(`it cannot be read (${reasonOf(error)})`, error);
  }
  const { success, data, error } = schema.safeParse(json);
  if (!success) {
    const { path: keys = [], message = "invalid" } = error.issues[0] ?? {};
    throw invalid([keys.join("."), message].filter(Boolean).join(": "), error);
  }
  return data;
}

/**
 * Creates or replaces a file once its whole text is written, on disk when this returns.
 * For a link, the file that it points to is replaced. A replaced file keeps its mode, and its owner if possible. A process that is ended meanwhile leaves the text beside it, in a file `.partial`.
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
  try {
    const opened = replaced === undefined ? mode : replaced.mode & 0o777;
    await writeFile(temporary, text, { flag: "wx", mode: opened, flush: true });
    if (replaced !== undefined) {
      // The umask was applied to it.
      await chmod(temporary, replaced.mode);
      // Only root can, and only then would a file change its owner.
      await chown(temporary, replaced.uid, replaced.gid).catch(() => undefined);
    }
    await rename(temporary, name);
    // The name of a file is on disk only once its folder is.
    await sync(path.dirname(name));
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Windows syncs no folder. */
async function sync(place: string): Promise<void> {
  const opened = await open(place, "r").catch(() => undefined);
  await opened?.sync().catch(() => undefined);
  await opened?.close();
}

/**
 * Refuses folders, pipes and devices: reading a pipe or a device may never end.
 *
 * @throws Error unless the path is a regular file or does not exist
 */
export async function requireRegularFile(file: string): Promise<void> {
  const found = await stat(file).catch((error: unknown) => {
    if (!isMissing(error)) {
      throw error;
    }
  });
  if (found?.isFile() === false) {
    throw new Error(
      found.isDirectory() ? "it is a folder" : "it is not a regular file",
    );
  }
}

function isMissing(error: unknown): boolean {
  return /^(?:ENOENT|ENOTDIR)$/u.test(String(asRecord(error)["code"]));
}

/** Returns the message of an error without the paths that Node adds. */
export function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.replace(/, \w+ '.*$/su, "");
}

// Schemas of the values that `toJsonValue()` writes.

export type Schema<Value = unknown> = z.ZodType<Value, z.ZodTypeDef, unknown>;

/** A number of blocks or seconds, a chain id or a nonce. */
export const recordedCount = z.number().int().nonnegative();

export const recordedHex = z
  .string()
  .regex(/^0x(?:[0-9a-f]{2})*$/iu, "expected 0x hex data");

export const recordedHash = z
  .string()
  .refine((value): value is Hex => isHexString(value, 32), "expected a hash");

export const recordedAddress = z
  .string()
  .refine(
    (value): value is Address => isHexString(value, 20),
    "expected an address",
  );

const NO_INTEGER = "expected a whole number as a decimal string";

export const recordedInteger = z
  .string({ message: NO_INTEGER })
  .regex(/^(?:0|[1-9][0-9]{0,77})$/u, NO_INTEGER)
  .transform((digits, { addIssue }) => {
    const integer = BigInt(digits);
    if (integer > MaxUint256) {
      addIssue({ code: "custom", message: "above 2^256 - 1" });
    }
    return integer;
  });

export const recordedRound = z
  .object({
    strikePrice: recordedInteger,
    APY: recordedInteger,
    maxVolume: recordedInteger,
    filledVolume: recordedInteger,
    minDeposit: recordedInteger,
    startTime: recordedInteger,
    endTime: recordedInteger,
    settledPrice: recordedInteger,
    settledAmount: recordedInteger,
    settled: z.boolean(),
  } satisfies Readonly<Record<keyof VaultRound, Schema>>)
  .strict();

import { stat } from "node:fs/promises";
import path from "node:path";

import { vaultError } from "../../src/errors.js";
import { reasonOf } from "../../src/files/project-file.js";
import { replaceFile } from "../../src/files/replace-file.js";
import { escapeUntrusted } from "../../src/escape.js";

/** Writes the file of `--out`: see {@link replaceFile}. */
export async function writeToFile(
  pieces: AsyncIterable<string>,
  file: string,
): Promise<void> {
  try {
    // Checked first: a mistake should not cost a scan.
    await requireReplaceable(file);
    await replaceFile(file, pieces);
  } catch (error) {
    throw error instanceof Error && "syscall" in error
      ? // Without the name of the temporary file.
        cannotWrite(file, reasonOf(error), error)
      : error;
  }
}

async function requireReplaceable(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory() === true) {
    throw cannotWrite(file, "it is a folder");
  }
  if (
    found?.isFile() === false ||
    // An open file of this process, which must not be replaced.
    /^\/(?:dev\/(?:fd|std)|proc\/)/u.test(path.resolve(file))
  ) {
    throw cannotWrite(file, "it is not a regular file");
  }
}

function cannotWrite(file: string, why: string, cause?: unknown): Error {
  return vaultError(
    "VAULT_INVALID_ARGUMENT",
    {
      where: "--out",
      problem: escapeUntrusted(`${file} cannot be written (${why})`),
      remedy: "Name a file in a folder that exists and is writable.",
    },
    cause,
  );
}

import path from "node:path";

import { invalidArgument } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import {
  reasonOf,
  replaceFile,
  requireRegularFile,
} from "../../src/files/project-file.js";
import { escapeUntrusted } from "../../src/escape.js";

/** Writes the file of `--out`: see {@link replaceFile}. */
export async function writeToFile(
  text: string | AsyncIterable<string>,
  file: string,
): Promise<void> {
  await requireReplaceable(file);
  await replaceFile(file, text).catch((error: unknown) => {
    throw error instanceof Error && "syscall" in error
      ? cannotWrite(file, error)
      : error;
  });
}

export async function requireReplaceable(file: string): Promise<void> {
  await requireRegularFile(file).catch((error: unknown) => {
    throw cannotWrite(file, error);
  });
  if (/^\/(?:dev\/(?:fd|std)|proc\/)/u.test(path.resolve(file))) {
    // An open file of this process, which must not be replaced.
    throw cannotWrite(file, "it is not a regular file");
  }
}

function cannotWrite(file: string, cause: unknown): VaultError {
  // Without the name of the temporary file.
  const problem = `${file} cannot be written (${reasonOf(cause)})`;
  const remedy = "Name a file in a folder that exists and is writable.";
  return invalidArgument("--out", escapeUntrusted(problem), remedy);
}

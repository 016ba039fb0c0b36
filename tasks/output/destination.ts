import path from "node:path";

import { vaultError } from "../../src/errors.js";
import { reasonOf } from "../../src/files/project-file.js";
import {
  replaceFile,
  requireRegularFile,
} from "../../src/files/replace-file.js";
import { escapeUntrusted } from "../../src/escape.js";

/** Writes the file of `--out`: see {@link replaceFile}. */
export async function writeToFile(
  pieces: AsyncIterable<string>,
  file: string,
): Promise<void> {
  const refuse = (error: unknown): never => {
    throw vaultError(
      "VAULT_INVALID_ARGUMENT",
      {
        where: "--out",
        // Without the name of the temporary file.
        problem: escapeUntrusted(
          `${file} cannot be written (${reasonOf(error)})`,
        ),
        remedy: "Name a file in a folder that exists and is writable.",
      },
      error,
    );
  };
  // Checked first: a mistake should not cost a scan.
  await requireRegularFile(file).catch(refuse);
  if (/^\/(?:dev\/(?:fd|std)|proc\/)/u.test(path.resolve(file))) {
    // An open file of this process, which must not be replaced.
    refuse("it is not a regular file");
  }
  await replaceFile(file, pieces).catch((error: unknown) => {
    throw error instanceof Error && "syscall" in error ? refuse(error) : error;
  });
}

import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";

import { onExit } from "signal-exit";

import { vaultError } from "../../src/errors.js";
import { reasonOf } from "../../src/files/project-file.js";
import { destinationOf } from "../../src/files/regular-file.js";
import { escapeUntrusted } from "../../src/escape.js";

/**
 * Creates or replaces a file once all pieces are written. A replaced file keeps
 * its mode. For a link, the file that it points to is replaced. The pieces are
 * streamed, which write-file-atomic cannot: it takes the whole text.
 */
export async function writeToFile(
  pieces: AsyncIterable<string>,
  file: string,
): Promise<void> {
  try {
    // Checked first: a mistake should not cost a scan.
    await replaceFile(await findReplaceable(file), pieces);
  } catch (error) {
    throw error instanceof Error && "syscall" in error
      ? // Without the name of the temporary file.
        cannotWrite(file, reasonOf(error), error)
      : error;
  }
}

async function findReplaceable(
  file: string,
): Promise<{ readonly name: string; readonly mode: number | undefined }> {
  const name = await destinationOf(file);
  const found = await stat(name).catch(() => undefined);
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
  return { name, mode: found?.mode };
}

async function replaceFile(
  { name, mode }: { readonly name: string; readonly mode: number | undefined },
  pieces: AsyncIterable<string>,
): Promise<void> {
  // In the same folder, so that renaming is atomic. A process id is not unique
  // in containers: an earlier process may have left a file with its id.
  const temporary = `${name}.${randomUUID().slice(0, 8)}.partial`;
  const stopListening = onExit(() => {
    rmSync(temporary, { force: true });
  });
  try {
    const output = await open(temporary, "wx", mode);
    if (mode !== undefined) {
      // `open` applied the umask.
      await output.chmod(mode);
    }
    await pipeline(pieces, output.createWriteStream({ flush: true }));
    await rename(temporary, name);
  } finally {
    await rm(temporary, { force: true });
    stopListening();
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

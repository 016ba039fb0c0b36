import { randomUUID } from "node:crypto";
import { createWriteStream, rmSync } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { onExit } from "signal-exit";

import { vaultError } from "../../src/errors.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import type { StyledStream } from "./style.js";

/** A stream that a task writes to. */
export interface OutputStream extends StyledStream {
  write(text: string): unknown;
}

/** Writes one piece of text and says when it is written, or why not. */
export type WriteText = (
  text: string,
  done: (error?: Error | null) => void,
) => unknown;

/**
 * Writes pieces as fast as they are taken, no faster.
 *
 * @returns False where the reader went away (`| head`), which ends the pieces.
 */
export async function writeToStdout(
  pieces: AsyncIterable<string>,
  write: WriteText,
): Promise<boolean> {
  // A closed pipe is also told to the stream itself, where it would be an
  // uncaught exception.
  process.stdout.on("error", ignore);
  try {
    await pipeline(
      // One piece at a time: what is shown elsewhere follows what is written.
      Readable.from(pieces, { highWaterMark: 1 }),
      new Writable({
        decodeStrings: false,
        write(text: string, _encoding, done) {
          write(text, done);
        },
      }),
    );
    return true;
  } catch (error) {
    if (hasCode(error, "EPIPE")) {
      return false;
    }
    throw error;
  }
}

/**
 * Writes pieces to a file that appears, or is replaced, once all are written.
 * Where a signal ends the process before, it says what became of the file.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if the file cannot be written
 */
export async function writeToFile(
  pieces: AsyncIterable<string>,
  file: string,
  stderr: OutputStream = process.stderr,
): Promise<void> {
  // Beside the file, so that renaming it is one step. In containers, a process
  // often has the number of the one before, which may have left its file.
  const temporary = `${file}.${randomUUID().slice(0, 8)}.partial`;
  let isThere: boolean;
  try {
    // Before anything is read: a mistake should not cost a scan.
    isThere = await isFile(file);
    await (await open(temporary, "wx")).close();
  } catch (error) {
    throw cannotWrite(file, error);
  }
  const stopListening = onExit((_code, signal) => {
    rmSync(temporary, { force: true });
    if (signal !== null) {
      // On a terminal, there may be a bar on this line.
      stderr.write(
        `${stderr.isTTY === true ? "\n" : ""}Interrupted: ${escapeUntrusted(file)} was not written${isThere ? "; it is as it was" : ""}.\n`,
      );
    }
  });
  try {
    await pipeline(
      Readable.from(pieces),
      createWriteStream(temporary, { flush: true }),
    );
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw isSystemError(error) ? cannotWrite(file, error) : error;
  } finally {
    stopListening();
  }
}

/** Whether the file is there; a file cannot take the place of a folder. */
async function isFile(file: string): Promise<boolean> {
  const existing = await stat(file).catch(() => undefined);
  if (existing?.isDirectory() === true) {
    throw new Error("it is a folder");
  }
  return existing !== undefined;
}

function cannotWrite(file: string, cause: unknown): Error {
  // Without the file's name, which is that of the temporary one.
  const problem = (
    cause instanceof Error ? cause.message : String(cause)
  ).replace(/, \w+ '.*$/su, "");
  return vaultError(
    "VAULT_INVALID_ARGUMENT",
    {
      where: "--out",
      problem: escapeUntrusted(`${file} cannot be written (${problem})`),
    },
    cause,
  );
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function ignore(): void {
  // The write's own callback has the error.
}

import { randomUUID } from "node:crypto";
import { constants, createWriteStream, rmSync, writeFile } from "node:fs";
import type { Stats } from "node:fs";
import { open, readlink, rename, rm, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";

import { onExit } from "signal-exit";

import { vaultError } from "../../src/errors.js";
import { destinationOf } from "../../src/regular-file.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import type { StyledStream } from "./style.js";

/** A stream that a task writes to. */
export interface OutputStream extends StyledStream {
  write(text: string): unknown;
}

/** The same stream but for these members. */
export function withMembers<Stream extends object>(
  stream: Stream,
  members: Partial<Stream>,
): Stream {
  return new Proxy(stream, {
    get: (target, name): unknown =>
      Reflect.get(Object.hasOwn(members, name) ? members : target, name),
  });
}

/** Writes one piece of text and says when it is written, or why not. */
export type WriteText = (
  text: string,
  done: (error?: Error | null) => void,
) => unknown;

/**
 * Lets a task go on to its end where nobody reads any more what it writes: a
 * closed pipe is also told to the stream itself, where it would be an uncaught
 * exception, in the middle of a settlement too. The write's own callback has the
 * error.
 */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (!stream.listeners("error").includes(ignore)) {
      stream.on("error", ignore);
    }
  }
}

/**
 * Writes one piece of text; that its reader went away (`| head`) is no failure.
 *
 * @throws what else keeps it from being written, as a full disk
 */
export async function writeWhole(
  text: string,
  write: WriteText,
): Promise<void> {
  const along = writeAlong(write);
  along.write(text, () => undefined);
  await along.end();
}

/**
 * Writes pieces as fast as they are taken, no faster.
 *
 * @returns False where the reader went away (`| head`), which ends the pieces.
 */
export async function writeToStdout(
  pieces: AsyncIterable<string>,
  write: WriteText,
): Promise<boolean> {
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
    if (isReaderGone(error)) {
      return false;
    }
    throw error;
  }
}

/**
 * Writes to stdout without waiting for it, for what goes on by itself.
 *
 * @returns What writes, a signal that is aborted once that failed, and what
 * throws, after the last piece, what {@link writeWhole} throws.
 */
export function writeAlong(write: WriteText): {
  readonly write: WriteText;
  readonly failed: AbortSignal;
  readonly end: () => Promise<void>;
} {
  const failure = new AbortController();
  return {
    write: (text, done) =>
      write(text, (error) => {
        if (error !== null && error !== undefined) {
          failure.abort(error);
        }
        done(error);
      }),
    failed: failure.signal,
    end: async () => {
      // A file is written at once. The callback itself is not waited for: what
      // somebody puts in the place of stdout may never call it.
      await setImmediate();
      if (failure.signal.aborted && !isReaderGone(failure.signal.reason)) {
        throw failure.signal.reason;
      }
    },
  };
}

/** Whether writing failed since the reader went away (`| head`). */
function isReaderGone(error: unknown): boolean {
  // The second once an earlier piece met the first.
  return hasCode(error, "EPIPE") || hasCode(error, "ERR_STREAM_DESTROYED");
}

/**
 * Writes pieces to a file that appears, or is replaced, once all are written.
 * Where a signal ends the process before, it says what became of the file. On a
 * link, that is the file that it points to; a device, a pipe or a file that is
 * open already (`/dev/stdout`, `/dev/fd/3`) is written to as it is.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if the file cannot be written
 */
export async function writeToFile(
  pieces: AsyncIterable<string>,
  file: string,
  stderr: OutputStream = process.stderr,
): Promise<void> {
  let destination: string;
  let existing: Stats | undefined;
  let special: Writable | undefined;
  try {
    // Before anything is read: a mistake should not cost a scan.
    existing = await stat(file).catch(() => undefined);
    const isFile = existing === undefined || existing.isFile();
    // What is no file is opened by the name that was given: that of a pipe
    // between processes leads nowhere.
    destination = isFile ? await destinationOf(file) : file;
    if (existing?.isDirectory() === true) {
      throw new Error("it is a folder");
    }
    const descriptor = isFile ? await descriptorOf(file) : undefined;
    special =
      existing === undefined
        ? undefined
        : !isFile
          ? (await openSpecial(destination, existing)).createWriteStream()
          : descriptor === undefined
            ? undefined
            : writeToDescriptor(descriptor);
  } catch (error) {
    throw cannotWrite(file, error);
  }
  try {
    await (special === undefined
      ? replaceFile(pieces, destination, () => {
          // On a terminal, there may be a bar on this line.
          stderr.write(
            `${stderr.isTTY === true ? "\n" : ""}Interrupted: ${escapeUntrusted(file)} was not written${existing === undefined ? "" : "; it is as it was"}.\n`,
          );
        })
      : pipeline(Readable.from(pieces), special));
  } catch (error) {
    throw isSystemError(error) ? cannotWrite(file, error) : error;
  }
}

/** The number of the open file that a name stands for, whatever links lead there. */
async function descriptorOf(file: string): Promise<number | undefined> {
  let name = path.resolve(file);
  for (;;) {
    const [, number] =
      /^\/(?:dev|proc\/(?:thread-)?self)\/fd\/([0-9]+)$/u.exec(name) ?? [];
    if (number !== undefined) {
      return Number(number);
    }
    const target = await readlink(name).catch(() => undefined);
    if (target === undefined) {
      return undefined;
    }
    name = path.resolve(path.dirname(name), target);
  }
}

/**
 * Writes where whoever opened the file wants it, as with `>>`, so that they can
 * go on after it; it stays open.
 */
function writeToDescriptor(descriptor: number): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writeFile(descriptor, chunk, done);
    },
  });
}

/** @param tell Called where a signal ends the process before all is written. */
async function replaceFile(
  pieces: AsyncIterable<string>,
  file: string,
  tell: () => void,
): Promise<void> {
  // Beside the file, so that renaming it is one step. In containers, a process
  // often has the number of the one before, which may have left its file.
  const temporary = `${file}.${randomUUID().slice(0, 8)}.partial`;
  await (await open(temporary, "wx")).close();
  const stopListening = onExit((_code, signal) => {
    rmSync(temporary, { force: true });
    if (signal !== null) {
      tell();
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
    throw error;
  } finally {
    stopListening();
  }
}

/**
 * Opens a device or a pipe. A pipe that nobody reads from would keep us waiting
 * for whoever does, so it is opened without waiting first; that one stays open
 * meanwhile, or the reader would take it for the end.
 */
async function openSpecial(file: string, found: Stats): Promise<FileHandle> {
  if (!found.isFIFO()) {
    return await open(file, constants.O_WRONLY);
  }
  const probe = await open(
    file,
    constants.O_WRONLY | constants.O_NONBLOCK,
  ).catch((error: unknown) => {
    throw hasCode(error, "ENXIO")
      ? new Error("it is a pipe that nobody reads from")
      : error;
  });
  try {
    return await open(file, constants.O_WRONLY);
  } finally {
    await probe.close();
  }
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
  // See outliveReaders.
}

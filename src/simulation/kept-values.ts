import { mkdir, readFile, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";

import { replaceFile } from "../files/replace-file.js";
import { asRecord } from "../json.js";

/** Bytes of all files of a folder: some thousand settlements. */
const MOST_BYTES = 256 * 2 ** 20;

/**
 * Values by key: in memory, where the oldest are forgotten when there are too many, and in
 * a file if there is one.
 */
export class KeptValues implements Iterable<readonly [string, unknown]> {
  readonly #values = new Map<string, unknown>();
  #characters = 0;
  #file: string | undefined;
  #hasNews = false;

  /** @param most Characters of all keys and values as JSON, about. */
  constructor(private readonly most: number) {}

  public has(key: string): boolean {
    return this.#values.has(key);
  }

  public get(key: string): unknown {
    return this.#values.get(key);
  }

  /** Adds a value, unless there is one. */
  public add(key: string, value: unknown): void {
    if (this.#values.has(key)) {
      return;
    }
    this.#hasNews = true;
    this.#values.set(key, value);
    this.#characters += lengthOf(key, value);
    for (const [oldest, old] of this.#values) {
      if (this.#characters <= this.most) {
        break;
      }
      this.#values.delete(oldest);
      this.#characters -= lengthOf(oldest, old);
    }
  }

  /** Reads a file, the first time, unless a value in it is not right. */
  public async keepIn(
    file: string,
    isRight: (key: string, value: unknown) => boolean,
  ): Promise<void> {
    if (this.#file !== undefined) {
      return;
    }
    this.#file = file;
    const stored = Object.entries(asRecord(await readJson(file)));
    if (stored.every(([key, value]) => isRight(key, value))) {
      for (const [key, value] of stored) {
        this.add(key, value);
      }
    }
  }

  /** Writes the file, if there is one and values were added. */
  public async save(): Promise<void> {
    if (this.#file !== undefined && this.#hasNews) {
      this.#hasNews = false;
      await write(this.#file, JSON.stringify(Object.fromEntries(this)));
    }
  }

  public [Symbol.iterator](): Iterator<readonly [string, unknown]> {
    return this.#values.entries();
  }
}

function lengthOf(key: string, value: unknown): number {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return key.length + text.length;
}

/** Writes a file, and removes those that were written longest ago if the folder is full. */
async function write(file: string, text: string): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  await replaceFile(file, text);
  const names = await readdir(folder);
  const files = await Promise.all(
    names.map(async (name) => {
      const found = path.join(folder, name);
      const { size, mtimeMs } = await stat(found);
      return { found, size, mtimeMs };
    }),
  );
  let bytes = 0;
  for (const { found, size } of files.toSorted(
    (a, b) => b.mtimeMs - a.mtimeMs,
  )) {
    bytes += size;
    if (bytes > MOST_BYTES && found !== file) {
      await rm(found, { force: true });
    }
  }
}

/** @returns Undefined for a file that cannot be used: it will be replaced. */
async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return undefined;
  }
}

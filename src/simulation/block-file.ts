import { mkdir, readFile, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";

import writeFileAtomic from "write-file-atomic";
import { z } from "zod";

/** Bytes of all files of a folder: some thousand settlements. */
const MOST_BYTES = 256 * 2 ** 20;

const storedValues = z.record(z.union([z.string(), z.record(z.unknown())]));

/** @returns Nothing if the file cannot be used: it will be replaced. */
export async function loadValues(
  file: string,
): Promise<ReadonlyArray<readonly [string, unknown]>> {
  const text = await readFile(file, "utf8").catch(() => "{}");
  return Object.entries(storedValues.safeParse(parseJson(text)).data ?? {});
}

/** Writes a file, and removes those that were written longest ago if the folder is full. */
export async function saveValues(
  file: string,
  values: Iterable<readonly [string, unknown]>,
): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  await writeFileAtomic(file, JSON.stringify(Object.fromEntries(values)));
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

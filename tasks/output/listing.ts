import path from "node:path";

import { invalidArgument } from "../../src/errors.js";
import { parseWord } from "../parse-options.js";
import { writeToFile, writeToStdout } from "./destination.js";
import type { OutputStream, WriteText } from "./destination.js";
import type { Progress } from "./progress.js";

/** How a listing is written. */
export type ListingForm = "table" | "json" | "ndjson" | "csv";

/** The options of every listing. */
export interface ListingOptionTexts {
  readonly json: boolean;
  readonly format: string | undefined;
  readonly out: string | undefined;
}

/** What a file of that name is expected to hold, unless `--format` says. */
const formOfExtension: Readonly<Record<string, ListingForm>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "ndjson",
  ".ndjson": "ndjson",
};

/**
 * Reads `--json`, `--format` and `--out`.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_ENUM
 */
export function parseListingForm({
  json,
  format,
  out,
}: ListingOptionTexts): ListingForm {
  if (out === "") {
    throw invalidArgument("--out", "a file name is needed, and it is empty");
  }
  if (format === undefined) {
    const extension = path.extname(out ?? "").toLowerCase();
    return json ? "json" : (formOfExtension[extension] ?? "table");
  }
  if (json) {
    throw invalidArgument(
      "--format",
      "lines have no place in the one document of --json; leave one of the two out",
    );
  }
  return parseWord(format, ["ndjson", "csv"], "--format");
}

/** Where a listing goes, and what is shown meanwhile. */
export interface ListingDestination {
  /** The file; the true stdout where there is none. */
  readonly out: string | undefined;
  readonly write: WriteText;
  readonly stderr: OutputStream;
  readonly progress: Progress;
}

/**
 * Writes a listing piece by piece.
 *
 * @returns False where the reader went away (`| head`).
 */
export async function writeListing(
  pieces: AsyncIterable<string>,
  { out, write, stderr, progress }: ListingDestination,
): Promise<boolean> {
  const shown = hideBefore(progress, pieces);
  try {
    if (out === undefined) {
      return await writeToStdout(shown, write);
    }
    await writeToFile(shown, out, stderr);
    return true;
  } finally {
    progress.hide();
  }
}

/** A bar and a table on one terminal must not be written over each other. */
async function* hideBefore(
  progress: Progress,
  pieces: AsyncIterable<string>,
): AsyncGenerator<string, void, undefined> {
  for await (const piece of pieces) {
    progress.hide();
    yield piece;
  }
}

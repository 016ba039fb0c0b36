import path from "node:path";

import { invalidArgument } from "../../src/errors.js";
import type { ArgumentsOf } from "../arguments.js";
import { parseWord } from "../parse-options.js";
import { writeToFile, writeToStdout } from "./destination.js";
import type { WriteText } from "./destination.js";

/** How a listing is written. */
export type ListingForm = "table" | "json" | "ndjson" | "csv";

/** What a file of that name is expected to hold, unless `--format` says. */
const formOfExtension: Readonly<Record<string, ListingForm>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "ndjson",
  ".ndjson": "ndjson",
};

/** Reads `--json`, `--format` and `--out`. */
export function parseListingForm({
  json,
  format,
  out,
}: Pick<ArgumentsOf<"orders">, "json" | "format" | "out">): ListingForm {
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

/**
 * Writes a listing piece by piece.
 *
 * @param out The file; stdout where there is none.
 * @param write Writes to the true stdout.
 * @returns False where the reader went away (`| head`).
 */
export async function writeListing(
  pieces: AsyncIterable<string>,
  out: string | undefined,
  write: WriteText,
): Promise<boolean> {
  if (out === undefined) {
    return await writeToStdout(pieces, write);
  }
  await writeToFile(pieces, out);
  return true;
}

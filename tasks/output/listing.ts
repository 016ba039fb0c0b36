import path from "node:path";

import { invalidArgument } from "../../src/errors.js";
import type { ArgumentsOf } from "../arguments.js";
import type { Terminal } from "../terminal.js";
import { writeToFile } from "./destination.js";

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
  return format;
}

/**
 * Writes a listing piece by piece.
 *
 * @param out The file; stdout where there is none.
 * @returns False where the reader went away (`| head`).
 */
export async function writeListing(
  pieces: AsyncIterable<string>,
  out: string | undefined,
  { out: stdout }: Terminal,
): Promise<boolean> {
  if (out !== undefined) {
    await writeToFile(pieces, out);
    return true;
  }
  for await (const piece of pieces) {
    if (!(await stdout.write(piece))) {
      return false;
    }
  }
  return true;
}

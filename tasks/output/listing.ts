import path from "node:path";

import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { stringify } from "csv-stringify/sync";

import { invalidArgument } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { escapeUntrusted, toSafeJson } from "../../src/foreign-text.js";
import {
  reasonOf,
  replaceFile,
  requireRegularFile,
} from "../../src/files/project-file.js";
import { toDecimal } from "../../src/protocol/round.js";
import { operationEntry } from "../../src/protocol/index.js";
import type { TaskValues } from "../definitions.js";
import { toDocument } from "../run-task.js";
import type { Terminal } from "../terminal.js";
import {
  createStyle,
  isEmpty,
  notes,
  renderText,
  say,
  title,
  toned,
} from "./screen.js";
import type { Envelope, Style, Table } from "./screen.js";
import { decimalsOf, describeCount } from "./values.js";
import type { FormatContext } from "./values.js";

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

type ListingForm = "table" | "json" | "ndjson" | "csv";

const formOfExtension: Readonly<Record<string, ListingForm>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "ndjson",
  ".ndjson": "ndjson",
};

/** The options of a listing that choose its form. */
type FormOptions = Pick<
  TaskValues<"orders">,
  "json" | "format" | "out" | "scaled"
>;

function formOf({ json, format, out = "", scaled }: FormOptions): ListingForm {
  const ofFile = formOfExtension[path.extname(out).toLowerCase()];
  const form = json ? "json" : (format ?? ofFile ?? "table");
  if (scaled && form !== "csv") {
    const problem = `only CSV has scaled values, and the format is ${form}`;
    throw invalidArgument("--scaled", problem, "Add --format csv, or omit it.");
  }
  return form;
}

/** Items of one kind, and how each form shows them. */
export interface Listing<Item> {
  /** The operation that reads an item. */
  readonly operation: "getOrderInfo" | "getLatestRoundInfo";
  readonly envelope: Envelope;
  readonly context: FormatContext;
  /** Read once, while they are written; JSON has them as they are. */
  readonly items: AsyncIterable<Item>;
  /** The document of `--json` without the envelope. */
  readonly toJson: (items: readonly Item[]) => object;
  /** Columns of CSV. */
  readonly columns: readonly string[];
  readonly toRow: (item: Item) => object;
  /** @param width As in {@link Style}: only a terminal's table is shortened. */
  readonly toTable: (items: readonly Item[], width: number) => Table;
  /** What is odd about the items; asked for at the end. */
  readonly doubts: () => readonly string[];
}

/** Items per write, and per table. */
const BATCH = 500;

/**
 * Writes a listing while it is read.
 *
 * @returns False if the reader went away (`| head`).
 */
export async function writeListing<Item>(
  listing: Listing<Item>,
  args: FormOptions,
  { out, err }: Pick<Terminal, "out" | "err">,
): Promise<boolean> {
  const form = formOf(args);
  const { out: file, scaled } = args;
  const decimals = new Map<string, number>();
  for (const field of operationEntry(listing.operation).outputs) {
    const known = scaled ? decimalsOf(field, listing.context) : undefined;
    if (known !== undefined) {
      decimals.set(field.name, known);
    }
  }
  const style =
    file === undefined ? out.style : createStyle({}, out.style.instance);
  const pieces = render(listing, form, style, decimals);
  if (file !== undefined) {
    await writeToFile(pieces, file);
  } else {
    for await (const piece of pieces) {
      if (!(await out.write(piece))) {
        return false;
      }
    }
  }
  const columns = [...decimals.keys()].join(", ");
  const said = notes(
    file !== undefined && `Written to ${escapeUntrusted(file)}.`,
    // Plain lines have no place for them.
    ...(form === "csv" || form === "ndjson" ? listing.doubts() : []),
    scaled &&
      `Scaled: ${columns === "" ? "no column" : columns}. Other numbers are unscaled.`,
  );
  await say(err, said);
  return true;
}

async function* render<Item>(
  listing: Listing<Item>,
  form: ListingForm,
  style: Style,
  decimals: ReadonlyMap<string, number>,
): AsyncGenerator<string, void, undefined> {
  const { operation, envelope, items, columns, toRow } = listing;
  if (form === "json") {
    const all = await Array.fromAsync(items);
    yield toJsonLine({ ...envelope, ...listing.toJson(all) });
    return;
  }
  if (form === "csv") {
    yield stringify([[...columns]]);
  }
  const { key: noun } = operationEntry(operation);
  let heading = [title(`${capitalize(noun)}s`, envelope)];
  let count = 0;
  for await (const batch of inBatches(items)) {
    if (form === "ndjson") {
      yield batch.map(toJsonLine).join("");
    } else if (form === "csv") {
      yield toCsvRows(batch.map(toRow), columns, decimals);
    } else {
      const table = listing.toTable(batch, style.width);
      count += table.rows.length;
      if (!isEmpty(table)) {
        yield `${renderText([...heading, table], style)}\n\n`;
        heading = [];
      }
    }
  }
  if (form === "table") {
    const summary = notes(
      `${describeCount(count, noun)}.`,
      ...listing.doubts().map((doubt) => toned("warn", doubt)),
      toned("dim", "Every value: --json, --format ndjson or csv."),
    );
    yield `${renderText([...heading, summary], style)}\n`;
  }
}

async function* inBatches<Item>(
  items: AsyncIterable<Item>,
): AsyncGenerator<Item[], void, undefined> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) {
    yield batch;
  }
}

function toJsonLine(value: unknown): string {
  return `${toSafeJson(toDocument(value))}\n`;
}

/**
 * Strings from the chain never start a formula, nor contain control characters.
 *
 * @param decimals Of the columns that are scaled.
 */
function toCsvRows(
  rows: readonly object[],
  columns: readonly string[],
  decimals: ReadonlyMap<unknown, number>,
): string {
  return stringify([...rows], {
    columns: [...columns],
    cast: {
      boolean: String,
      bigint: (value, { column }) =>
        toDecimal(value, decimals.get(column) ?? 0),
      string: toCsvCell,
    },
    escape_formulas: true,
  });
}

/**
 * csv-stringify escapes a formula only at the very start of a cell. Spreadsheets
 * also accept one after blanks and, if their decimal separator is a comma, after
 * a `;`.
 */
function toCsvCell(text: string): string {
  return escapeUntrusted(text, Infinity)
    .replace(/^(?=[\s"']+[=+\-@＝＋－＠])/u, "'")
    .replace(/;([\s"']*)(?=[=+\-@＝＋－＠])/gu, ";$1'");
}

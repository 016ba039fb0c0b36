import path from "node:path";

import { stringify } from "csv-stringify/sync";

import { invalidArgument } from "../../src/errors.js";
import { escapeUntrusted, toSafeJson } from "../../src/escape.js";
import { toDecimal } from "../../src/protocol/amounts.js";
import type { Field } from "../../src/protocol/index.js";
import type { ordersTask } from "../definitions.js";
import type { TaskValues } from "../definitions.js";
import { toDocument } from "../error-texts.js";
import type { Terminal } from "../terminal.js";
import { notes, present } from "./blocks.js";
import type { Block, Content } from "./blocks.js";
import { writeToFile } from "./destination.js";
import { decimalsOf, describeCount } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderText, say } from "./render-text.js";
import { createStyle } from "./style.js";
import type { Style } from "./style.js";

export type ListingForm = "table" | "json" | "ndjson" | "csv";

/** The form of a file, which `--format` must not contradict. */
const formOfExtension: Readonly<Record<string, ListingForm>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "ndjson",
  ".ndjson": "ndjson",
};

export function parseListingForm({
  json,
  format,
  out,
  scaled,
}: Pick<
  TaskValues<typeof ordersTask>,
  "json" | "format" | "out" | "scaled"
>): ListingForm {
  const extension = path.extname(out ?? "").toLowerCase();
  const ofFile = formOfExtension[extension];
  if (format !== undefined && (ofFile ?? format) !== format) {
    const problem = `a file ${extension} does not hold ${format}`;
    throw invalidArgument("--out", problem, "Give the file another extension.");
  }
  const form = json ? "json" : (format ?? ofFile ?? "table");
  if (scaled && form !== "csv") {
    const problem = `only CSV has scaled values, and the format is ${form}`;
    throw invalidArgument("--scaled", problem, "Add --format csv, or omit it.");
  }
  return form;
}

/** How a listing shows its values. */
export interface ListingContext extends FormatContext {
  /** Scales the values of CSV. */
  readonly scaled: boolean;
  /** Shortens addresses and times, for the width of a terminal. */
  readonly isShort?: boolean;
}

/** A row of CSV: integers, or decimals where the scale is known and wanted. */
export function csvRow(
  row: object,
  fields: readonly Field[],
  context: ListingContext,
): object {
  const cells: Record<string, unknown> = { ...row };
  for (const { name, decimals } of scaledFields(fields, context)) {
    const value = cells[name];
    cells[name] =
      typeof value === "bigint" ? toDecimal(value, decimals) : value;
  }
  return cells;
}

/** Tells which columns of CSV are scaled. */
export function describeScaled(
  fields: readonly Field[],
  context: ListingContext,
): string | false {
  const scaled = scaledFields(fields, context).map(
    ({ name, unit, decimals }) =>
      `${name} (${unit === "percent" ? "percent" : `${decimals} decimals`})`,
  );
  return !context.scaled
    ? false
    : scaled.length === 0
      ? "No column is scaled: set displayDecimals in the configuration of the network."
      : `Scaled: ${scaled.join(", ")}. Other numbers are unscaled.`;
}

function scaledFields(
  fields: readonly Field[],
  context: ListingContext,
): ReadonlyArray<Field & { readonly decimals: number }> {
  return fields.flatMap((field) => {
    const decimals = context.scaled ? decimalsOf(field, context) : undefined;
    return decimals === undefined ? [] : [{ ...field, decimals }];
  });
}

/** Items of one kind, with a writer for each form. */
export interface Listing<Item> {
  readonly items: AsyncIterable<Item>;
  /** Singular, for example `order`. */
  readonly noun: string;
  /** The document of `--json`. */
  readonly document: (items: readonly Item[]) => unknown;
  readonly toJson: (item: Item) => unknown;
  readonly csvColumns: readonly string[];
  readonly toCsv: (item: Item) => object;
  /** Blocks for the terminal, while items are read. */
  readonly blocks: (
    items: AsyncIterable<Item>,
  ) => AsyncIterable<readonly Block[]>;
  /** Notes for stderr, because lines have no place for them; called at the end. */
  readonly notes: () => readonly Content[];
}

/**
 * Writes a listing while it is read.
 *
 * @returns False if the reader went away (`| head`).
 */
export async function writeListing<Item>(
  listing: Listing<Item>,
  form: ListingForm,
  out: string | undefined,
  { out: stdout, err }: Terminal,
): Promise<boolean> {
  let count = 0;
  const items = async function* (): AsyncGenerator<Item, void, undefined> {
    for await (const item of listing.items) {
      count += 1;
      yield item;
    }
  };
  const style =
    out === undefined ? stdout.style : createStyle({}, stdout.style.instance);
  const pieces = renderListing({ ...listing, items: items() }, form, style);
  if (out !== undefined) {
    await writeToFile(pieces, out);
  } else {
    for await (const piece of pieces) {
      if (!(await stdout.write(piece))) {
        return false;
      }
    }
  }
  const said = present([
    out !== undefined &&
      `${describeCount(count, listing.noun)} written to ${escapeUntrusted(out)}.`,
    ...(form === "csv" || form === "ndjson" ? listing.notes() : []),
  ]);
  if (said.length > 0) {
    await say(err, notes(...said));
  }
  return true;
}

/** Items per write. */
const BATCH = 100;

export async function* renderListing<Item>(
  { items, document, toJson, csvColumns, toCsv, blocks }: Listing<Item>,
  form: ListingForm,
  style: Style,
): AsyncGenerator<string, void, undefined> {
  switch (form) {
    case "json":
      yield toJsonLine(document(await Array.fromAsync(items)));
      break;
    case "ndjson":
      for await (const batch of inBatches(items, BATCH)) {
        yield batch.map((item) => toJsonLine(toJson(item))).join("");
      }
      break;
    case "csv":
      yield toCsvRows([], csvColumns, true);
      for await (const batch of inBatches(items, BATCH)) {
        yield toCsvRows(batch.map(toCsv), csvColumns);
      }
      break;
    case "table": {
      let gap = "";
      for await (const shown of blocks(items)) {
        yield `${gap}${renderText(shown, style)}\n`;
        gap = "\n";
      }
    }
  }
}

function toJsonLine(value: unknown): string {
  return `${toSafeJson(toDocument(value))}\n`;
}

/** Strings from the chain never start a formula, nor contain control characters. */
function toCsvRows(
  rows: readonly object[],
  columns: readonly string[],
  header = false,
): string {
  return stringify([...rows], {
    header,
    columns: [...columns],
    cast: { boolean: String, string: toCsvCell },
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

export async function* inBatches<T>(
  items: AsyncIterable<T>,
  size: number,
): AsyncGenerator<T[], void, undefined> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length === size) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) {
    yield batch;
  }
}

import path from "node:path";

import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { stringify } from "csv-stringify/sync";

import { invalidArgument } from "../../src/errors.js";
import { escapeUntrusted, toSafeJson } from "../../src/escape.js";
import { toDecimal } from "../../src/protocol/amounts.js";
import type { Field } from "../../src/protocol/index.js";
import type { TaskValues } from "../definitions.js";
import { toDocument } from "../run-task.js";
import type { Terminal } from "../terminal.js";
import { isEmpty, notes, present, title } from "./blocks.js";
import type { Block, Content, Envelope } from "./blocks.js";
import { writeToFile } from "./destination.js";
import { decimalsOf, describeCount } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { createStyle, renderText, say } from "./render-text.js";
import type { Style } from "./render-text.js";

export type ListingForm = "table" | "json" | "ndjson" | "csv";

const formOfExtension: Readonly<Record<string, ListingForm>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "ndjson",
  ".ndjson": "ndjson",
};

export function parseListingForm({
  json,
  format,
  out = "",
  scaled,
}: Pick<
  TaskValues<"orders">,
  "json" | "format" | "out" | "scaled"
>): ListingForm {
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
  /** Singular, for example `order`. */
  readonly noun: string;
  readonly envelope: Envelope;
  readonly context: FormatContext;
  readonly fields: readonly Field[];
  /** Read once, while they are written. */
  readonly items: AsyncIterable<Item>;
  /** The document of `--json`, with the JSON of each item. */
  readonly document: (items: readonly unknown[]) => unknown;
  readonly toJson: (item: Item) => unknown;
  readonly csvColumns: readonly string[];
  readonly toCsv: (item: Item) => object;
  readonly toTable: (items: readonly Item[]) => Block;
  /** Items that were read; called at the end, as the next ones. */
  readonly count: () => number;
  /** Below a table. */
  readonly summary: () => readonly Content[];
  /** For stderr, because lines have no place for them. */
  readonly doubts: () => readonly Content[];
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
  form: ListingForm,
  args: { readonly out?: string | undefined; readonly scaled: boolean },
  { out, err }: Terminal,
): Promise<boolean> {
  const { out: file, scaled } = args;
  const style =
    file === undefined ? out.style : createStyle({}, out.style.instance);
  const decimals = new Map<string, number>();
  for (const field of scaled ? listing.fields : []) {
    const known = decimalsOf(field, listing.context);
    if (known !== undefined) {
      decimals.set(field.name, known);
    }
  }
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
  const columns = Array.from(
    decimals,
    ([name, of]) => `${name} (${of} decimals)`,
  );
  const said = present([
    file !== undefined &&
      `${describeCount(listing.count(), "row")} written to ${escapeUntrusted(file)}.`,
    ...(form === "csv" || form === "ndjson" ? listing.doubts() : []),
    scaled &&
      (columns.length === 0
        ? "No column is scaled: set displayDecimals in the configuration of the network."
        : `Scaled: ${columns.join(", ")}. Other numbers are unscaled.`),
  ]);
  if (said.length > 0) {
    await say(err, notes(...said));
  }
  return true;
}

async function* render<Item>(
  listing: Listing<Item>,
  form: ListingForm,
  style: Style,
  decimals: ReadonlyMap<string, number>,
): AsyncGenerator<string, void, undefined> {
  const { items, toJson, toCsv, csvColumns } = listing;
  if (form === "json") {
    const all = await Array.fromAsync(items);
    yield toJsonLine(listing.document(all.map(toJson)));
    return;
  }
  if (form === "csv") {
    yield toCsvRows([], csvColumns, decimals, true);
  }
  let heading = [title(`${capitalize(listing.noun)}s`, listing.envelope)];
  for await (const batch of inBatches(items)) {
    if (form === "ndjson") {
      yield batch.map((item) => toJsonLine(toJson(item))).join("");
    } else if (form === "csv") {
      yield toCsvRows(batch.map(toCsv), csvColumns, decimals);
    } else {
      const table = listing.toTable(batch);
      if (!isEmpty(table)) {
        yield `${renderText([...heading, table], style)}\n\n`;
        heading = [];
      }
    }
  }
  if (form === "table") {
    yield `${renderText([...heading, notes(...listing.summary())], style)}\n`;
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
  header = false,
): string {
  return stringify([...rows], {
    header,
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

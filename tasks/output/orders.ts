import { stringify } from "csv-stringify/sync";

import { isEmptyOrder, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder } from "../../src/client/index.js";
import { operations } from "../../src/protocol/index.js";
import {
  escapeUntrusted,
  toJsonValue,
  toSafeJson,
} from "../../src/untrusted-text.js";
import { formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import type { Style } from "./style.js";
import { alignColumns } from "./table.js";

const fields = operations.getOrderInfo.outputs;

/** Orders written together: enough to keep the cost of writing small. */
const BATCH = 100;
/** Rows that share the widths of their columns. */
const PAGE = 500;

/**
 * An order as it stands in JSON. One whose every value is zero says so, since
 * that is how a contract may answer an id that does not exist.
 */
export function toOrderJson(order: ListedOrder): unknown {
  return toJsonValue(isEmptyOrder(order) ? { ...order, empty: true } : order);
}

/** One JSON object a line. */
export async function* toNdjson(
  orders: AsyncIterable<ListedOrder>,
): AsyncGenerator<string, void, undefined> {
  for await (const batch of inBatches(orders, BATCH)) {
    yield batch.map((order) => `${toSafeJson(toOrderJson(order))}\n`).join("");
  }
}

/**
 * CSV with a header row. A cell never starts a formula, whatever the chain put
 * into a string, and no cell holds control characters.
 */
export async function* toCsv(
  orders: AsyncIterable<ListedOrder>,
): AsyncGenerator<string, void, undefined> {
  yield toCsvRows([
    ["orderID", ...fields.map(({ name }) => name), "status", "error"],
  ]);
  for await (const batch of inBatches(orders, BATCH)) {
    yield toCsvRows(batch.map(toCsvRow));
  }
}

function toCsvRow(order: ListedOrder): string[] {
  if (isFailedOrder(order)) {
    const { code, shortMessage } = order.error;
    return [
      order.orderID.toString(),
      ...fields.map(() => ""),
      "failed",
      toCell(`${code}: ${shortMessage}`),
    ];
  }
  return [
    order.orderID.toString(),
    ...fields.map(({ name }) => toCell(String(order[name]))),
    isEmptyOrder(order) ? "empty" : "ok",
    "",
  ];
}

/**
 * Where the decimal separator is a comma, spreadsheets take `;` for the end of a
 * cell, in the middle of ours too. csv-stringify looks at its start alone.
 */
function toCell(text: string): string {
  return escapeUntrusted(text).replace(
    /;([\s"']*)(?=[=+\-@＝＋－＠])/gu,
    ";$1'",
  );
}

function toCsvRows(rows: readonly string[][]): string {
  return stringify([...rows], { escape_formulas: true });
}

/** What of an order fits beside each other; JSON and CSV have all of it. */
const columns = fields.filter(
  ({ name }) => !/^(?:exFee|lockFee|newLockFee|marginFee)$/u.test(name),
);

const MAX_TEXT = 40;

/** Tables for a person, a page after the other. */
export async function* toTable(
  orders: AsyncIterable<ListedOrder>,
  context: FormatContext,
  style: Style,
): AsyncGenerator<string, void, undefined> {
  const heading = ["Id", ...columns.map(({ label }) => label)].map((label) =>
    style.dim(label),
  );
  for await (const page of inBatches(orders, PAGE)) {
    yield `${alignColumns(
      [heading, ...page.map((order) => toRow(order, context, style))],
      ["right", ...columns.map(alignmentOf)],
    )}\n`;
  }
}

function toRow(
  order: ListedOrder,
  context: FormatContext,
  style: Style,
): string[] {
  const id = order.orderID.toString();
  if (isFailedOrder(order)) {
    return [id, style.bad("failed")];
  }
  if (isEmptyOrder(order)) {
    return [id, style.dim("empty")];
  }
  return [
    id,
    ...columns.map((field) => {
      const { text } = formatValue(field, order[field.name], context);
      return text.length > MAX_TEXT && field.type === "string"
        ? `${text.slice(0, MAX_TEXT)}…`
        : text;
    }),
  ];
}

function alignmentOf({ type }: { readonly type: string }): "left" | "right" {
  return type === "uint256" ? "right" : "left";
}

async function* inBatches<T>(
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

import { stringify } from "csv-stringify/sync";

import { isEmptyOrder, isFailedOrder } from "../../src/client/index.js";
import type {
  FailedOrder,
  ListedOrder,
  Order,
} from "../../src/client/index.js";
import { operations } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { escapeUntrusted, toSafeJson } from "../../src/untrusted-text.js";
import { toDocument } from "../error-texts.js";
import { toned } from "./blocks.js";
import type { Block, Cell, Column, Content } from "./blocks.js";
import {
  cutText,
  decimalsOf,
  describeCount,
  formatValue,
} from "./format-value.js";
import type { FormatContext } from "./format-value.js";

const fields = operations.getOrderInfo.outputs;

/** Orders written together: enough to keep the cost of writing small. */
const BATCH = 100;
/** Orders that share the widths of their columns. */
const PAGE = 500;

/**
 * An order as it stands in JSON. One whose every value is zero says so, since
 * that is how a contract may answer an id that does not exist.
 */
export function toOrderJson(order: ListedOrder): unknown {
  return toDocument(isEmptyOrder(order) ? { ...order, empty: true } : order);
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
  yield toCsvRows([], true);
  for await (const batch of inBatches(orders, BATCH)) {
    yield toCsvRows(batch);
  }
}

/**
 * Spreadsheets take a formula for one behind blanks too, and where the decimal
 * separator is a comma, `;` for the end of a cell, in the middle of ours.
 * csv-stringify looks at the very start of a cell alone.
 */
function toCell(text: string): string {
  return escapeUntrusted(text)
    .replace(/^(?=[\s"']+[=+\-@＝＋－＠])/u, "'")
    .replace(/;([\s"']*)(?=[=+\-@＝＋－＠])/gu, ";$1'");
}

function toCsvRows(orders: readonly ListedOrder[], header = false): string {
  return stringify(
    orders.map((order) =>
      isFailedOrder(order)
        ? {
            orderID: order.orderID,
            status: "failed",
            error: `${order.error.code}: ${order.error.shortMessage}`,
          }
        : { ...order, status: isEmptyOrder(order) ? "empty" : "ok" },
    ),
    {
      header,
      columns: [
        "orderID",
        ...fields.map(({ name }) => name),
        "status",
        "error",
      ],
      cast: { boolean: String, string: toCell },
      escape_formulas: true,
    },
  );
}

/** What of an order fits beside each other; JSON and CSV have all of it. */
const shownFields = fields.filter(
  ({ name }) => !/^(?:exFee|lockFee|newLockFee|marginFee)$/u.test(name),
);

/** How the numbers of the table are to be read. */
export function describeScales(context: FormatContext): string {
  if (context.raw) {
    return "Integers as on the wire.";
  }
  const scaled = shownFields.filter(
    (field) => field.unit === "raw" && decimalsOf(field, context) !== undefined,
  );
  const unscaled = "integers as on the wire: their scale is not documented.";
  return scaled.length === 0
    ? unscaled.replace("i", "I")
    : `Scaled as configured: ${scaled.map(({ label }) => label.toLowerCase()).join(", ")}. Else ${unscaled}`;
}

const MAX_TEXT = 40;

/** A value in a table; how values are scaled is said once, below it. */
function briefly({ type }: Field, { text, unscaled }: Cell): Cell {
  return type === "string"
    ? { text: cutText(text, MAX_TEXT) }
    : { text: text.replace(/ (?:raw|as configured)$/u, ""), unscaled };
}

/** Tables of the orders that there are, one for each page. */
export async function* orderTables(
  orders: AsyncIterable<ListedOrder>,
  context: FormatContext,
): AsyncGenerator<Block, void, undefined> {
  for await (const page of inBatches(orders, PAGE)) {
    const found = page.filter(
      (order): order is Order => !isFailedOrder(order) && !isEmptyOrder(order),
    );
    if (found.length > 0) {
      yield orderTable(found, context);
    }
  }
}

export function orderTable(
  orders: readonly Order[],
  context: FormatContext,
): Block {
  return {
    kind: "table",
    columns: [
      { heading: "Id", align: "right" },
      ...shownFields.map(({ label, type }): Column => ({
        heading: label,
        align: type === "uint256" ? "right" : "left",
      })),
    ],
    rows: orders.map((order) => [
      order.orderID.toString(),
      ...shownFields.map((field) =>
        briefly(field, formatValue(field, order[field.name], context)),
      ),
    ]),
  };
}

/** Counts of a listing, and the first failure. */
export class Tally {
  public listed = 0;
  public empty = 0;
  public failed = 0;
  #firstFailure: FailedOrder | undefined;

  /** @returns True if it is an order. */
  public add(order: ListedOrder): order is Order {
    this.listed += 1;
    if (isFailedOrder(order)) {
      this.failed += 1;
      this.#firstFailure ??= order;
      return false;
    }
    const isEmpty = isEmptyOrder(order);
    this.empty += isEmpty ? 1 : 0;
    return !isEmpty;
  }

  public async *count(
    orders: AsyncIterable<ListedOrder>,
  ): AsyncGenerator<ListedOrder, void, undefined> {
    for await (const order of orders) {
      this.add(order);
      yield order;
    }
  }

  public describe(): readonly Content[] {
    const { listed, empty, failed } = this;
    const first = this.#firstFailure;
    return [
      `${describeCount(listed - empty - failed, "order")}.`,
      ...(empty === 0
        ? []
        : [`Empty, with every value zero: ${describeCount(empty, "id")}.`]),
      ...(first === undefined
        ? []
        : [
            toned("bad", `Failed: ${describeCount(failed, "id")}.`),
            `The first of these, ${first.orderID}: ${first.error.shortMessage}`,
          ]),
    ];
  }
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

import { isEmptyOrder, isFailedOrder } from "../../src/client/orders/types.js";
import type {
  FailedOrder,
  ListedOrder,
  Order,
} from "../../src/client/orders/types.js";
import { operations } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { notes, present, table, title, toned } from "./blocks.js";
import type { Block, Cell, Column, Content, Envelope } from "./blocks.js";
import { decimalsOf, describeCount, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { csvRow, describeScaled, inBatches } from "./listing.js";
import type { Listing, ListingContext } from "./listing.js";

const fields = operations.getOrderInfo.outputs;

/** Orders per table. */
const PAGE = 500;

/** @param note Added below the table. */
export function orderListing(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
  tally: Tally,
  context: ListingContext,
  note = "",
): Listing<ListedOrder> {
  // A contract may return zeros for an id that does not exist.
  const toJson = (order: ListedOrder): unknown =>
    isEmptyOrder(order) ? { ...order, empty: true } : order;
  return {
    items: tally.count(orders),
    noun: "order",
    toJson,
    document: (listed) => ({ ...envelope, orders: listed.map(toJson) }),
    csvColumns: [
      "orderID",
      ...fields.map(({ name }) => name),
      "status",
      "error",
    ],
    toCsv: (order) =>
      isFailedOrder(order)
        ? {
            orderID: order.orderID,
            status: "failed",
            error: `${order.error.code}: ${order.error.shortMessage}`,
          }
        : {
            ...csvRow(order, fields, context),
            status: isEmptyOrder(order) ? "empty" : "ok",
          },
    async *blocks(items) {
      let heading = [title("Orders", envelope)];
      for await (const page of inBatches(items, PAGE)) {
        const found = page.filter(isOrder);
        if (found.length > 0) {
          yield [...heading, orderTable(found, context)];
          heading = [];
        }
      }
      const [times, whole] =
        context.isShort === true
          ? [" Dates assume Unix seconds.", "Whole holders and fees"]
          : ["", "Fees"];
      const scales = `${describeScales(context)}${times} ${whole}: --json, --format ndjson or csv.${note}`;
      const isTable = heading.length === 0;
      yield [
        ...heading,
        notes(...tally.describe(), isTable && toned("dim", scales)),
      ];
    },
    notes: () =>
      present([
        ...(tally.empty + tally.failed === 0 ? [] : tally.describe()),
        describeScaled(fields, context),
      ]),
  };
}

/** The columns that fit a terminal; JSON and CSV have all of them. */
const shownFields = fields.filter(
  ({ name }) => !/^(?:exFee|lockFee|newLockFee|marginFee)$/u.test(name),
);

export function describeScales(context: FormatContext): string {
  if (context.raw) {
    return "Integers are unscaled.";
  }
  const scaled = shownFields.filter(
    (field) => decimalsOf(field, context) !== undefined,
  );
  const unscaled = "integers are unscaled: their scale is not documented.";
  return scaled.length === 0
    ? `I${unscaled.slice(1)}`
    : `Scaled: ${scaled.map(({ label }) => label.toLowerCase()).join(", ")}. Other ${unscaled}`;
}

/** Without the unit: a note below the table has the scales. */
function briefly(
  { type }: Field,
  { text, note }: Cell,
  isShort: boolean,
): Cell {
  switch (type) {
    case "string":
      return { text: text.length > 40 ? `${text.slice(0, 40)}…` : text };
    case "address":
      return {
        text: isShort ? `${text.slice(0, 6)}…${text.slice(-4)}` : text,
      };
    case "uint8":
      return {
        text: isShort ? text.replace(/(?<!unknown) \(\d+\)$/u, "") : text,
      };
    default: {
      // The note below the table tells that the time is assumed.
      const [date] = /^\d+-\d\d-\d\d(?=T)/u.exec(note ?? "") ?? [];
      return {
        text: isShort && date !== undefined ? date : text.replace(/ raw$/u, ""),
      };
    }
  }
}

export function orderTable(
  orders: readonly Order[],
  context: Omit<ListingContext, "scaled">,
): Block {
  return table(
    [
      { heading: "Id", align: "right" },
      ...shownFields.map(({ label, type }): Column => ({
        heading: label,
        align: type === "uint256" ? "right" : "left",
      })),
    ],
    orders.map((order) => [
      order.orderID.toString(),
      ...shownFields.map((field) =>
        briefly(
          field,
          formatValue(field, order[field.name], context),
          context.isShort === true,
        ),
      ),
    ]),
  );
}

export function isOrder(order: ListedOrder): order is Order {
  return !isFailedOrder(order) && !isEmptyOrder(order);
}

export class Tally {
  public listed = 0;
  public empty = 0;
  public failed = 0;
  #firstFailure: FailedOrder | undefined;

  public add(order: ListedOrder): void {
    this.listed += 1;
    if (isFailedOrder(order)) {
      this.failed += 1;
      this.#firstFailure ??= order;
    } else if (isEmptyOrder(order)) {
      this.empty += 1;
    }
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
    return present([
      `${describeCount(listed - empty - failed, "order")}.`,
      empty > 0 &&
        `Empty, with every value zero: ${describeCount(empty, "id")}.`,
      failed > 0 && toned("bad", `Failed: ${describeCount(failed, "id")}.`),
      first !== undefined &&
        `The first of these, ${first.orderID}: ${first.error.shortMessage}`,
    ]);
  }
}

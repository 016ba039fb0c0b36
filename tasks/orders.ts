import { isEmptyOrder, isFailedOrder } from "../src/client/order-reader.js";
import { FAILED_IDS_AT_END, UNKNOWN_IDS_AT_END } from "../src/client/orders.js";
import type { ListedOrder, Order } from "../src/client/order-reader.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { hasOwnersScale, operations } from "../src/protocol/index.js";
import type { Field } from "../src/protocol/index.js";
import { tasks } from "./definitions.js";
import { hideInOrder, pinVault, readAction } from "./open-vault.js";
import { present, table, toned } from "./output/blocks.js";
import type {
  Block,
  Cell,
  Column,
  Content,
  Envelope,
} from "./output/blocks.js";
import {
  decimalsOf,
  describeCount,
  formatValue,
} from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import type { Listing } from "./output/listing.js";

export default readAction(tasks.orders, async (vault, args, { terminal }) => {
  const form = parseListingForm(args);
  const { ids: selection, state, holder, skipEmpty, from, raw } = args;
  const { envelope, pin } = await pinVault(vault, args.block);
  const { timestamp: chainTime } = envelope.block;
  const orders = vault.orders({
    ...selection,
    state,
    holder,
    skipEmpty,
    from,
    blockTag: pin,
    onProgress: (far) => {
      terminal.progress("Reading orders", far);
    },
  });
  const isSearch =
    selection?.ids === undefined && selection?.lastId === undefined;
  const listing = orderListing(
    envelope,
    newestOf(vault, orders, args.limit),
    { ...vault.settings, chainTime, raw },
    `Whole holders, times and fees: --json, --format ndjson or csv.${isSearch ? ` Stopped after ${UNKNOWN_IDS_AT_END} ids in a row without an order, or ${FAILED_IDS_AT_END} that fail.` : ""}`,
  );
  const isRead = await writeListing(listing, form, args, terminal);
  return { streamed: true, ok: !isRead || listing.failures() === 0 };
});

/** Hides secrets. With a limit, the last orders, the last of all first: ids rise with time. */
async function* newestOf(
  vault: HardhatVault,
  orders: AsyncIterable<ListedOrder>,
  limit: bigint | undefined,
): AsyncGenerator<ListedOrder, void, undefined> {
  const newest: ListedOrder[] = [];
  for await (const order of orders) {
    const safe = hideInOrder(vault, order);
    if (limit === undefined) {
      yield safe;
    } else if (newest.push(safe) > limit) {
      newest.shift();
    }
  }
  yield* newest.toReversed();
}

const { outputs: fields } = operations.getOrderInfo;

export function orderListing(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
  context: FormatContext,
  legend = "",
): Listing<ListedOrder> & { readonly failures: () => number } {
  let [listed, empty, failed] = [0, 0, 0];
  let first = "";
  async function* counted(): AsyncGenerator<ListedOrder, void, undefined> {
    for await (const order of orders) {
      listed += 1;
      if (isFailedOrder(order)) {
        failed += 1;
        first ||= `The first of these, ${order.orderID}: ${order.error.shortMessage}`;
      } else if (isEmptyOrder(order)) {
        empty += 1;
      }
      yield order;
    }
  }
  const doubts = (): readonly Content[] =>
    present([
      empty > 0 &&
        `Empty, with every value zero: ${describeCount(empty, "id")}.`,
      failed > 0 && toned("bad", `Failed: ${describeCount(failed, "id")}.`),
      first !== "" && first,
    ]);
  return {
    noun: "order",
    envelope,
    context,
    fields,
    items: counted(),
    document: (all) => ({ ...envelope, orders: all }),
    toJson: (order) =>
      isEmptyOrder(order) ? { ...order, empty: true } : order,
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
        : { ...order, status: isEmptyOrder(order) ? "empty" : "ok" },
    toTable: (some) => orderTable(some.filter(isOrder), context),
    count: () => listed,
    failures: () => failed,
    doubts,
    summary: () =>
      present([
        `${describeCount(listed - empty - failed, "order")}.`,
        ...doubts(),
        legend !== "" && toned("dim", legend),
      ]),
  };
}

export function isOrder(order: ListedOrder): order is Order {
  return !isFailedOrder(order) && !isEmptyOrder(order);
}

/** The columns that fit a terminal; JSON and CSV have all of them. */
const columns = fields.filter(
  ({ name }) => !/^(?:exFee|lockFee|newLockFee|marginFee)$/u.test(name),
);

function orderTable(orders: readonly Order[], context: FormatContext): Block {
  return table(
    [
      { heading: "Id", align: "right" },
      ...columns.map((field): Column => ({
        heading: `${field.label}${isRaw(field, context) ? " (raw)" : ""}`,
        align: field.type === "uint256" ? "right" : "left",
      })),
    ],
    orders.map((order) => [
      `${order.orderID}`,
      ...columns.map((field) => {
        const cell = formatValue(field, order[field.name], context);
        return context.raw ? cell : shorten(field, cell);
      }),
    ]),
  );
}

function isRaw(field: Field, context: FormatContext): boolean {
  const isScaled = decimalsOf(field, context) !== undefined;
  return hasOwnersScale(field) && !isScaled && !context.raw;
}

/** What is unscaled is in the heading; JSON and CSV have the whole values. */
function shorten({ type }: Field, { text, note = "", footnote }: Cell): Cell {
  switch (type) {
    case "address":
      return { text: `${text.slice(0, 6)}…${text.slice(-4)}` };
    case "string":
      return { text: text.length > 40 ? `${text.slice(0, 40)}…` : text };
    case "uint8":
      return { text: text.replace(/(?<!unknown) \(\d+\)$/u, "") };
    default: {
      const [date] = /^\d+-\d\d-\d\d(?=T)/u.exec(note) ?? [];
      return date === undefined
        ? { text: text.replace(/ raw$/u, ""), footnote }
        : { text: date, footnote: "Dates assume Unix seconds." };
    }
  }
}

import { isEmptyOrder, isFailedOrder } from "../src/client/order-reader.js";
import type { ListedOrder, Order } from "../src/client/order-reader.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { operations } from "../src/protocol/index.js";
import type { Field } from "../src/protocol/index.js";
import { tasks } from "./definitions.js";
import { hideInOrder, pinVault, readAction } from "./open-vault.js";
import { present, table } from "./output/screen.js";
import type { Cell, Envelope, Table } from "./output/screen.js";
import { writeListing } from "./output/listing.js";
import type { Listing } from "./output/listing.js";
import { describeCount, formatValue } from "./output/values.js";
import type { FormatContext } from "./output/values.js";

export default readAction(tasks.orders, async (vault, args, { terminal }) => {
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
    onProgress: (far) => terminal.progress("Reading orders", far),
  });
  const listing = orderListing(envelope, newestOf(vault, orders, args.limit), {
    ...vault.display,
    chainTime,
    raw,
  });
  const isRead = await writeListing(listing, args, terminal);
  return !isRead || listing.failures() === 0;
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

/** An order, as JSON has it. */
type OrderItem = ListedOrder & { readonly empty?: true };

export function orderListing(
  envelope: Envelope,
  orders: AsyncIterable<ListedOrder>,
  context: FormatContext,
): Listing<OrderItem> & { readonly failures: () => number } {
  let [empty, failed] = [0, 0];
  let first = "";
  async function* items(): AsyncGenerator<OrderItem, void, undefined> {
    for await (const order of orders) {
      if (isFailedOrder(order)) {
        failed += 1;
        first ||= `The first, ${order.orderID}: ${order.error.shortMessage}`;
      }
      const isEmpty = isEmptyOrder(order);
      empty += isEmpty ? 1 : 0;
      yield isEmpty ? { ...order, empty: true } : order;
    }
  }
  return {
    operation: "getOrderInfo",
    envelope,
    context,
    items: items(),
    toJson: (all) => ({ orders: all }),
    columns: ["orderID", ...fields.map(({ name }) => name), "status", "error"],
    toRow: (order) =>
      isFailedOrder(order)
        ? {
            orderID: order.orderID,
            status: "failed",
            error: `${order.error.code}: ${order.error.shortMessage}`,
          }
        : { ...order, status: order.empty === true ? "empty" : "ok" },
    toTable: (some) => orderTable(some.filter(isOrder), context),
    failures: () => failed,
    doubts: () =>
      present([
        empty > 0 &&
          `Empty, with every value zero: ${describeCount(empty, "id")}.`,
        failed > 0 && `Failed: ${describeCount(failed, "id")}. ${first}`,
      ]),
  };
}

export function isOrder(order: OrderItem): order is Order {
  return !isFailedOrder(order) && order.empty !== true;
}

/** The columns that fit a terminal; JSON and CSV have all of them. */
const shown = fields.filter(
  ({ name }) => !/^(?:exFee|lockFee|newLockFee|marginFee)$/u.test(name),
);

function orderTable(orders: readonly Order[], context: FormatContext): Table {
  return table(
    ["Id", ...shown.map(({ label }) => label)],
    orders.map((order) => [
      `${order.orderID}`,
      ...shown.map((field) => {
        const cell = formatValue(field, order[field.name], context);
        return context.raw ? cell : shorten(field, cell);
      }),
    ]),
  );
}

function shorten({ type, isLikelyTime }: Field, cell: Cell): Cell {
  const { text } = cell;
  if (type === "address") {
    return { text: `${text.slice(0, 6)}…${text.slice(-4)}` };
  }
  return isLikelyTime === true
    ? { ...cell, text: text.replace(/T.*/u, "") }
    : cell;
}

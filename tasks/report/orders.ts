import { isEmptyOrder, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, Order } from "../../src/client/index.js";
import { describeCount } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { columns, describeScales, toRow } from "../output/orders.js";
import { pricesFigure } from "./charts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderTable } from "./table.js";

/** Browsers lay out so many rows without a delay. */
const MOST_ORDERS = 1_000;

/** Opening prices, and orders one by one. */
export function renderOrders(
  listed: readonly ListedOrder[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): Markup {
  const failed = listed.filter(isFailedOrder);
  const orders = listed.filter(
    (order): order is Order => !isFailedOrder(order) && !isEmptyOrder(order),
  );
  const empty = listed.length - failed.length - orders.length;
  const [failure] = failed;
  return html`<p>
      ${describeCount(orders.length, "order")} of
      ${describeCount(listed.length, "id")}.
      ${empty === 0 ? undefined : `Empty, with every value zero: ${empty}.`}
      ${failure === undefined ? undefined : html`<span class="bad">Failed: ${failed.length}. The first, ${failure.orderID.toString()}: ${failure.error.shortMessage}</span>`}
    </p>
    ${
      orders.length === 0
        ? undefined
        : [
            pricesFigure(orders, strikePrice, context),
            renderOrderTable(orders, context),
          ]
    }`;
}

function renderOrderTable(
  orders: readonly Order[],
  context: FormatContext,
): Markup {
  const rows = orders
    .slice(0, MOST_ORDERS)
    .map((order) => toRow(order, context));
  const isWhole = rows.length === orders.length;
  return html`${renderTable(isWhole ? "Every order" : `The first ${describeCount(rows.length, "order")}`, columns, rows)}
    <p class="quiet">
      ${describeScales(context)} ${isWhole ? "Fees:" : "All orders, and fees:"}
      npx hardhat vault orders --out orders.csv
    </p> `;
}

import { isEmptyOrder, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, Order } from "../../src/client/index.js";
import { OrderState } from "../../src/protocol/index.js";
import { describeCount, fieldOf } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { IdRanges } from "../output/id-ranges.js";
import {
  directionKeys,
  distributionChart,
  figure,
  holdersChart,
  statesChart,
  strikeAmongPrices,
} from "./charts.js";
import type { Holding } from "./charts.js";
import { figureOf } from "./facts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderOrderTable } from "./order-table.js";
import { renderTable } from "./table.js";

const MOST_HOLDERS = 10;

/** Orders as distributions, and one by one; and what style sheet that takes. */
export function renderOrders(
  listed: readonly ListedOrder[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): { readonly content: Markup; readonly style: string } {
  const empty = new IdRanges();
  const failed = new IdRanges();
  const orders: Order[] = [];
  for (const order of listed) {
    if (isFailedOrder(order)) {
      failed.add(order.orderID);
    } else if (isEmptyOrder(order)) {
      empty.add(order.orderID);
    } else {
      orders.push(order);
    }
  }
  const found = html`<p>
    ${describeCount(orders.length, "order")} of
    ${describeCount(listed.length, "id")}.
    ${empty.count === 0 ? undefined : `Empty, with every value zero: ${empty.describe()}.`}
    ${failed.count === 0 ? undefined : html`<span class="bad">Failed: ${failed.describe()}.</span>`}
  </p> `;
  if (orders.length === 0) {
    return { content: found, style: "" };
  }
  const { table, style } = renderOrderTable(orders, context);
  return {
    content: html`${found} ${renderCharts(orders, strikePrice, context)}
    ${table}`,
    style,
  };
}

function renderCharts(
  orders: readonly Order[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): Markup {
  const keys = directionKeys(orders);
  const strike = strikeAmongPrices(strikePrice, context);
  const holdings = holdingsOf(orders, context);
  return html`<div class="beside">
      ${figure("State and direction", keys, statesChart(orders))}
      ${figure(
        strike === undefined ? "Opening price" : "Opening price against strike",
        strike === undefined
          ? html`${keys}; strike not drawn: displayDecimals declares no scale of
            opening prices`
          : html`${keys}<i class="key line"></i>strike`,
        distributionChart(orders, "openPrice", context, strike),
      )}
      ${figure(
        "Size in open positions",
        keys,
        distributionChart(orders, "number", context),
      )}
      ${figure(
        "Largest holders",
        "by open positions, of orders that are open",
        holdings.length === 0
          ? "No order is open."
          : holdersChart(holdings.slice(0, MOST_HOLDERS), context),
      )}
    </div>
    ${holdings.length === 0 ? undefined : renderHoldings(holdings, context)}`;
}

/** Whose orders are open, the largest sum first. */
function holdingsOf(
  orders: readonly Order[],
  { accounts }: FormatContext,
): readonly Holding[] {
  const found = new Map<string, Holding>();
  for (const { holder, number, state } of orders) {
    if (state === OrderState.OPEN) {
      const { orders: count = 0, total = 0n } = found.get(holder) ?? {};
      found.set(holder, {
        holder,
        label: accounts?.get(holder),
        orders: count + 1,
        total: total + number,
      });
    }
  }
  return [...found.values()].sort(({ total: one }, { total: other }) =>
    one > other ? -1 : one < other ? 1 : 0,
  );
}

function renderHoldings(
  holdings: readonly Holding[],
  context: FormatContext,
): Markup {
  const shown = holdings.slice(0, MOST_HOLDERS);
  return html`${renderTable(
    "Largest holders",
    [
      { heading: "Holder" },
      { heading: "Known as" },
      { heading: "Open orders", isFigure: true },
      { heading: "Open positions", isFigure: true },
    ],
    shown.map(({ holder, label, orders, total }) => {
      const { text, title } = figureOf(
        fieldOf("getOrderInfo", "number"),
        total,
        context,
      );
      return [
        { content: html`<code>${holder}</code>` },
        { content: label },
        { content: orders },
        { content: text, title },
      ];
    }),
  )}
  ${
    holdings.length === shown.length
      ? undefined
      : html`<p class="quiet">
          ${describeCount(holdings.length - shown.length, "more holder")} with
          open orders.
        </p> `
  }`;
}

import { isEmptyOrder, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, Order } from "../../src/client/index.js";
import { OrderState } from "../../src/protocol/index.js";
import { describeCount, fieldOf } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import {
  briefly,
  columns,
  describeScales,
  shownFields,
} from "../output/orders.js";
import { figure, pricesChart, strikeAmongPrices } from "./charts.js";
import { figureOf } from "./facts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderTable } from "./table.js";

const MOST_HOLDERS = 10;
/** What a browser lays out in no time. */
const MOST_ORDERS = 1_000;

/** Opening prices, the largest holders, and orders one by one. */
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
            renderPrices(orders, strikePrice, context),
            renderHoldings(orders, context),
            renderOrderTable(orders, context),
          ]
    }`;
}

function renderPrices(
  orders: readonly Order[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): Markup {
  const strike = strikeAmongPrices(strikePrice, context);
  const chart = pricesChart(orders, context, strike);
  return strike === undefined
    ? figure(
        "Opening price",
        "strike not drawn: displayDecimals declares no scale of opening prices",
        chart,
      )
    : figure(
        "Opening price against strike",
        html`<i class="key fill"></i>orders<i class="key line"></i>strike`,
        chart,
      );
}

/** What one holder has open. */
interface Holding {
  readonly holder: string;
  readonly orders: number;
  /** Sum of the open positions, unscaled. */
  readonly total: bigint;
}

/** Whose orders are open, the largest sum first. */
function holdingsOf(orders: readonly Order[]): readonly Holding[] {
  const found = new Map<string, Holding>();
  for (const { holder, number, state } of orders) {
    if (state === OrderState.open) {
      const { orders: count = 0, total = 0n } = found.get(holder) ?? {};
      found.set(holder, { holder, orders: count + 1, total: total + number });
    }
  }
  return [...found.values()].sort(({ total: one }, { total: other }) =>
    one > other ? -1 : one < other ? 1 : 0,
  );
}

function renderHoldings(
  orders: readonly Order[],
  context: FormatContext,
): Markup {
  const holdings = holdingsOf(orders);
  const shown = holdings.slice(0, MOST_HOLDERS);
  return html`${renderTable(
    "Largest holders",
    [
      { heading: "Holder" },
      { heading: "Open orders", align: "right" },
      { heading: "Open positions", align: "right" },
    ],
    shown.map(({ holder, orders: count, total }) => [
      { text: html`<code>${holder}</code>` },
      { text: count },
      figureOf(fieldOf("getOrderInfo", "number"), total, context),
    ]),
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

function renderOrderTable(
  orders: readonly Order[],
  context: FormatContext,
): Markup {
  const shown = orders.slice(0, MOST_ORDERS);
  const rows = shown.map((order) => [
    { text: order.orderID.toString() },
    ...shownFields.map((field) => {
      const { text, title } = figureOf(field, order[field.name], context);
      return { text: briefly(field, text), title };
    }),
  ]);
  const isWhole = shown.length === orders.length;
  return html`${renderTable(isWhole ? "Every order" : `The first ${describeCount(shown.length, "order")}`, columns, rows)}
    <p class="quiet">
      ${describeScales(context)} ${isWhole ? "Fees:" : "All orders, and fees:"}
      npx hardhat vault orders --out orders.csv
    </p> `;
}

import type { ListedOrder, Order } from "../../src/client/index.js";
import { OrderState } from "../../src/protocol/index.js";
import {
  describeCount,
  fieldOf,
  shortenAddress,
} from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import {
  Tally,
  briefly,
  columns,
  describeScales,
  shownFields,
} from "../output/orders.js";
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
import { MANY } from "./page-script.js";
import { renderTable } from "./table.js";

const MOST_HOLDERS = 10;

/** Characters beside each other on a sheet of paper. */
const PORTRAIT = 150;
/** For what tells how a column is sorted, and the blank beside it. */
const HEADING_ROOM = 4;

/** Orders as distributions, and one by one; and what style sheet that takes. */
export function renderOrders(
  listed: readonly ListedOrder[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): { readonly content: Markup; readonly style: string } {
  const tally = new Tally();
  const orders = listed.filter((order) => tally.add(order));
  const { empty, failed } = tally;
  const found = html`<p>
    ${describeCount(orders.length, "order")} of
    ${describeCount(listed.length, "id")}.
    ${empty === 0 ? undefined : `Empty, with every value zero: ${describeCount(empty, "id")}.`}
    ${failed === 0 ? undefined : html`<span class="bad">Failed: ${describeCount(failed, "id")}.</span>`}
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
    if (state === OrderState.open) {
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
      { heading: "Open orders", align: "right" },
      { heading: "Open positions", align: "right" },
    ],
    shown.map(({ holder, label, orders, total }) => [
      { text: html`<code>${holder}</code>` },
      { text: label },
      { text: orders },
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

/**
 * A row for each order. Of thousands a browser must be able to lay out those in
 * sight alone, also where there is no script to page them: then the columns get
 * their widths here, by a rule for the style sheet, and not from the cells.
 */
function renderOrderTable(
  orders: readonly Order[],
  context: FormatContext,
): { readonly table: Markup; readonly style: string } {
  const isMany = orders.length > MANY;
  const rows = orders.map((order) => [
    { text: order.orderID.toString(), title: undefined },
    ...shownFields.map((field) => {
      const { text, note, title } = figureOf(field, order[field.name], context);
      return field.type === "address"
        ? { text: note ?? shortenAddress(text), title: text }
        : { text: briefly(field, text), title };
    }),
  ]);
  const widths = columns.map(({ heading }, column) =>
    rows.reduce(
      (most, cells) => Math.max(most, (cells[column]?.text.length ?? 0) + 2),
      heading.length + HEADING_ROOM,
    ),
  );
  const width = widths.reduce((sum, column) => sum + column);
  const classes = [
    "orders",
    ...(isMany ? ["many"] : []),
    ...(width > PORTRAIT ? ["wide"] : []),
  ];
  return {
    style: `.many table:not([data-few]) { min-width: ${width}ch; }
.many tr { grid-template-columns: ${widths.map((column) => `minmax(${column}ch, ${column}fr)`).join(" ")}; }
`,
    table: html`<div class="${classes.join(" ")}">
      ${renderTable("Every order", columns, rows, { pagesOf: "Orders", hasRoles: isMany })}
      <p class="quiet">
        ${describeScales(context)} Fees: npx hardhat vault orders --json, or
        --format ndjson or csv.
      </p>
    </div> `,
  };
}

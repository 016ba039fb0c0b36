import type { Order } from "../../src/client/index.js";
import type { Field } from "../../src/protocol/index.js";
import { shortenAddress } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { briefly, describeScales, shownFields } from "../output/orders.js";
import { figureOf } from "./facts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { MANY } from "./page-script.js";
import { renderTable } from "./table.js";
import type { Cell, Column } from "./table.js";

/** Characters beside each other on a sheet of paper. */
const PORTRAIT = 150;
/** For what tells how a column is sorted, and the blank beside it. */
const HEADING_ROOM = 4;

const columns: readonly Column[] = [
  { heading: "Id", isFigure: true },
  ...shownFields.map(({ label, type }) => ({
    heading: label,
    isFigure: type === "uint256",
  })),
];

/**
 * A row for each order. Of thousands a browser must be able to lay out those in
 * sight alone, also where there is no script to page them: then the columns get
 * their widths here, by a rule for the style sheet, and not from the cells.
 */
export function renderOrderTable(
  orders: readonly Order[],
  context: FormatContext,
): { readonly table: Markup; readonly style: string } {
  const isMany = orders.length > MANY;
  const rows = orders.map((order) => [
    { content: order.orderID.toString() },
    ...shownFields.map((field) => cellOf(field, order[field.name], context)),
  ]);
  const widths = columns.map(({ heading }, column) =>
    rows.reduce(
      (most, cells) => Math.max(most, (cells[column]?.content.length ?? 0) + 2),
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

function cellOf(
  field: Field,
  value: unknown,
  context: FormatContext,
): Cell & { readonly content: string } {
  const { text, note, title } = figureOf(field, value, context);
  return field.type === "address"
    ? { content: note ?? shortenAddress(text), title: text }
    : { content: briefly(field, text), title };
}

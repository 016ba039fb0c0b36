import type { Order } from "../../src/client/index.js";
import type { Field } from "../../src/protocol/index.js";
import { shortenAddress } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { briefly, describeScales, shownFields } from "../output/orders.js";
import { figureOf } from "./facts.js";
import { html } from "./html.js";
import type { Content, Markup } from "./html.js";

/** Rows that a browser shows at a time; without a script it shows all. */
const ROWS = 25;
/** Rows that a browser lays out in no time. */
const MANY = 1_000;
/** Characters beside each other on a sheet of paper. */
const PORTRAIT = 150;
/** For what tells how a column is sorted, and the blank beside it. */
const HEADING_ROOM = 4;

interface Cell {
  readonly text: string;
  readonly title?: Content;
}

const headings = ["Id", ...shownFields.map(({ label }) => label)];
const isFigure = [true, ...shownFields.map(({ type }) => type === "uint256")];

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
  // Rows and cells that are laid out otherwise are none to a screen reader,
  // unless they say that they are.
  const as = (role: string): Content =>
    isMany ? html`role="${role}"` : undefined;
  const widths = headings.map(({ length }) => length + HEADING_ROOM);
  const rows = orders.map((order) => {
    const cells: readonly Cell[] = [
      { text: order.orderID.toString() },
      ...shownFields.map((field) => cellOf(field, order[field.name], context)),
    ];
    cells.forEach(({ text }, column) => {
      widths[column] = Math.max(widths[column] ?? 0, text.length + 2);
    });
    return html`<tr ${as("row")}>
      ${cells.map(
        ({ text, title }, column) =>
          html`<td ${as("cell")} ${classOf(column)} ${title}>${text}</td>`,
      )}
    </tr>`;
  });
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
      <h3>Every order</h3>
      <div class="scroll" tabindex="0" role="region" aria-label="Every order">
        <table
          ${as("table")}
          data-rows="${ROWS}"
          data-most="${MANY}"
          data-what="Orders"
        >
          <thead ${as("rowgroup")}>
            <tr ${as("row")}>
              ${headings.map(
                (heading, column) =>
                  html`<th scope="col" ${as("columnheader")} ${classOf(column)}>
                    ${heading}
                  </th>`,
              )}
            </tr>
          </thead>
          <tbody ${as("rowgroup")}>
            ${rows}
          </tbody>
        </table>
      </div>
      <p class="quiet">
        ${describeScales(context)} Fees: npx hardhat vault orders --json, or
        --format ndjson or csv.
      </p>
    </div> `,
  };
}

function classOf(column: number): Content {
  return isFigure[column] === true ? html`class="n"` : undefined;
}

function cellOf(field: Field, value: unknown, context: FormatContext): Cell {
  const { text, note, title } = figureOf(field, value, context);
  return field.type === "address"
    ? { text: note ?? shortenAddress(text), title: html`title="${text}"` }
    : { text: briefly(field, text), title };
}

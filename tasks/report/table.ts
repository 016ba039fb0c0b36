import type { Column } from "../output/table.js";
import { attribute, html } from "./html.js";
import type { Content, Markup } from "./html.js";

export interface Cell {
  readonly text: Content;
  /** The tooltip. */
  readonly title?: string | undefined;
}

/** How a table is more than its rows. */
interface TableOptions {
  /** What its pages are of, where a script may page and sort it. */
  readonly pagesOf?: string;
  /**
   * Rows and cells that are laid out otherwise are none to a screen reader,
   * unless they say that they are.
   */
  readonly hasRoles?: boolean;
}

/** A table under its title, which scrolls where it is wider than the page. */
export function renderTable(
  title: string,
  columns: readonly Column[],
  rows: ReadonlyArray<readonly Cell[]>,
  { pagesOf, hasRoles = false }: TableOptions = {},
): Markup | undefined {
  const as = (role: string): Content =>
    hasRoles ? attribute("role", role) : undefined;
  const classes = columns.map(({ align }) =>
    align === "right" ? attribute("class", "n") : undefined,
  );
  return rows.length === 0
    ? undefined
    : html`<h3>${title}</h3>
        <div class="scroll" tabindex="0" role="region" aria-label="${title}">
          <table${as("table")}${attribute("data-pages-of", pagesOf)}>
            <thead${as("rowgroup")}>
              <tr${as("row")}>
                ${columns.map(({ heading }, column) => html`<th scope="col" ${as("columnheader")}${classes[column]}>${heading}</th>`)}
              </tr>
            </thead>
            <tbody${as("rowgroup")}>
              ${rows.map(
                (cells) => html`<tr${as("row")}>
                  ${cells.map(({ text, title: whole }, column) => html`<td${as("cell")}${classes[column]}${attribute("title", whole)}>${text}</td>`)}
                </tr>`,
              )}
            </tbody>
          </table>
        </div> `;
}

import { attribute, html } from "./html.js";
import type { Content, Markup } from "./html.js";

/** What a column is headed; figures stand at its right. */
export interface Column {
  readonly heading: string;
  readonly isFigure?: boolean;
}

export interface Cell {
  readonly content: Content;
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
  const classes = columns.map(({ isFigure = false }) =>
    isFigure ? attribute("class", "n") : undefined,
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
                  ${cells.map(({ content, title: whole }, column) => html`<td${as("cell")}${classes[column]}${attribute("title", whole)}>${content}</td>`)}
                </tr>`,
              )}
            </tbody>
          </table>
        </div> `;
}

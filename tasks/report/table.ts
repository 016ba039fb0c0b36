import type { Column } from "../output/table.js";
import { attribute, html } from "./html.js";
import type { Content, Markup } from "./html.js";

export interface Cell {
  readonly text: Content;
  /** The tooltip. */
  readonly title?: string | undefined;
}

/** A table under its title, which scrolls where it is wider than the page. */
export function renderTable(
  title: string,
  columns: readonly Column[],
  rows: ReadonlyArray<readonly Cell[]>,
): Markup | undefined {
  const classes = columns.map(({ align }) =>
    align === "right" ? attribute("class", "n") : undefined,
  );
  return rows.length === 0
    ? undefined
    : html`<h3>${title}</h3>
        <div class="scroll" tabindex="0" role="region" aria-label="${title}">
          <table>
            <thead>
              <tr>
                ${columns.map(({ heading }, column) => html`<th scope="col" ${classes[column]}>${heading}</th>`)}
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                (cells) =>
                  html`<tr>
                    ${cells.map(({ text, title: whole }, column) => html`<td${classes[column]}${attribute("title", whole)}>${text}</td>`)}
                  </tr>`,
              )}
            </tbody>
          </table>
        </div> `;
}

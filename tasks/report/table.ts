import type { Column } from "../output/table.js";
import { attribute, html } from "./html.js";
import type { Content, Markup } from "./html.js";

/** A label, a value and an optional note. */
export type Fact = readonly [label: string, value: Content, note?: string];

/** Facts, one below the other. */
export function factsTable(facts: readonly Fact[]): Markup {
  return html`<table class="facts">
    <tbody>
      ${facts.map(
        ([label, value, note = ""]) =>
          html`<tr>
            <th scope="row">${label}</th>
            <td>
              ${value}${note === "" ? undefined : html`<small>${note}</small>`}
            </td>
          </tr> `,
      )}
    </tbody>
  </table> `;
}

/** A table under its title, which scrolls if it is wider than the page. */
export function renderTable(
  title: string,
  columns: readonly Column[],
  rows: ReadonlyArray<readonly string[]>,
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
                    ${cells.map((cell, column) => html`<td${classes[column]}>${cell}</td>`)}
                  </tr>`,
              )}
            </tbody>
          </table>
        </div> `;
}

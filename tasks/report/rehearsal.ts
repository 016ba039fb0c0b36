import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import {
  balanceRows,
  changeRow,
  outcomeFacts,
  transferRows,
} from "../output/simulation.js";
import type { ShownRehearsal } from "../output/simulation.js";
import { factRow, factsTable } from "./facts.js";
import { html } from "./html.js";
import type { Content, Markup } from "./html.js";

const asItIs = { good: (text: string) => text, bad: (text: string) => text };

/** What a settlement would do: before, after, and what moves. */
export function renderRehearsal(
  shown: ShownRehearsal,
  { network }: Envelope,
  context: FormatContext,
): Markup {
  const { changes, balances, transfers, notes } = shown.simulation;
  return html`${factsTable(
    outcomeFacts(shown, asItIs).map(([label, text, note]) =>
      factRow(label, text, note),
    ),
  )}${table(
    "Readings",
    ["Reading", "Before", "After"],
    changes.map((change) => {
      const [label, before, after, note] = changeRow(change, context);
      return [
        cell(label),
        cell(before, String(change.before), true),
        cell(
          note === undefined || note === ""
            ? after
            : html`${after} <span class="quiet">${note}</span>`,
          String(change.after),
          true,
        ),
      ];
    }),
  )}${table(
    "Balances",
    ["Account", "Before", "After", "Difference"],
    balanceRows(shown).map(([label, before, after, difference], index) => [
      cell(label, balances[index]?.account),
      cell(before, balances[index]?.before.toString(), true),
      cell(after, balances[index]?.after.toString(), true),
      cell(difference, undefined, true),
    ]),
  )}${table(
    "Transfers",
    ["From", "To", "Amount"],
    transferRows(shown).map(([amount, from, to], index) => [
      cell(from, transfers?.[index]?.from),
      cell(to, transfers?.[index]?.to),
      cell(amount, transfers?.[index]?.amount.toString(), true),
    ]),
  )}${
    transfers === null
      ? html`<p class="quiet">What executed it does not see transfers.</p> `
      : undefined
  }${[...notes, `Nothing was sent to ${network}.`].map(
    (note) => html`<p class="quiet">${note}</p> `,
  )}`;
}

function cell(content: Content, title?: string, isFigure = false): Markup {
  return html`<td${isFigure ? html` class="n"` : undefined}${title === undefined ? undefined : html` title="${title}"`}>${content}</td>`;
}

const numeric = new Set(["Before", "After", "Difference", "Amount"]);

function table(
  title: string,
  headings: readonly string[],
  rows: ReadonlyArray<readonly Markup[]>,
): Markup | undefined {
  return rows.length === 0
    ? undefined
    : html`<h3>${title}</h3>
        <div class="scroll" tabindex="0" role="region" aria-label="${title}">
          <table>
            <thead>
              <tr>
                ${headings.map(
                  (heading) =>
                    html`<th
                      scope="col"
                      ${numeric.has(heading) ? html` class="n"` : undefined}
                    >
                      ${heading}
                    </th>`,
                )}
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                (cells) =>
                  html`<tr>
                    ${cells}
                  </tr> `,
              )}
            </tbody>
          </table>
        </div> `;
}

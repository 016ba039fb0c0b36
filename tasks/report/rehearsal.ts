import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import {
  balanceRows,
  changeRow,
  outcomeFacts,
  transferRows,
} from "../output/simulation.js";
import type { ShownRehearsal } from "../output/simulation.js";
import type { Column } from "../output/table.js";
import { factRow, factsTable } from "./facts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderTable } from "./table.js";

const asItIs = { good: (text: string) => text, bad: (text: string) => text };

const beforeAndAfter: readonly Column[] = [
  { heading: "Before", align: "right" },
  { heading: "After", align: "right" },
];

/** What a settlement would do: before, after, and what moves. */
export function renderRehearsal(
  shown: ShownRehearsal,
  { network }: Envelope,
  context: FormatContext,
): Markup {
  const { changes, balances, transfers, notes } = shown.simulation;
  return html`${factsTable(
    outcomeFacts(shown, asItIs).map(([label, text]) =>
      factRow(label, { text }),
    ),
  )}${renderTable(
    "Readings",
    [{ heading: "Reading" }, ...beforeAndAfter],
    changes.map((change) => {
      const [label, before, after, note = ""] = changeRow(change, context);
      return [
        { text: label },
        { text: before, title: String(change.before) },
        {
          text: [
            after,
            note === "" ? undefined : html` <span class="quiet">${note}</span>`,
          ],
          title: String(change.after),
        },
      ];
    }),
  )}${renderTable(
    "Balances",
    [
      { heading: "Account" },
      ...beforeAndAfter,
      { heading: "Difference", align: "right" },
    ],
    balanceRows(shown).map(([label, before, after, difference], index) => [
      { text: label, title: balances[index]?.account },
      { text: before, title: balances[index]?.before.toString() },
      { text: after, title: balances[index]?.after.toString() },
      { text: difference },
    ]),
  )}${renderTable(
    "Transfers",
    [
      { heading: "From" },
      { heading: "To" },
      { heading: "Amount", align: "right" },
    ],
    transferRows(shown).map(([amount, from, to], index) => [
      { text: from, title: transfers?.[index]?.from },
      { text: to, title: transfers?.[index]?.to },
      { text: amount, title: transfers?.[index]?.amount.toString() },
    ]),
  )}${
    transfers === null
      ? html`<p class="quiet">What executed it does not see transfers.</p> `
      : undefined
  }${[...notes, `Nothing was sent to ${network}.`].map(
    (note) => html`<p class="quiet">${note}</p> `,
  )}`;
}

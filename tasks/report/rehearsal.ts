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
import type { Markup } from "./html.js";
import { renderTable } from "./table.js";

const asItIs = { good: (text: string) => text, bad: (text: string) => text };

const beforeAndAfter = [
  { heading: "Before", isFigure: true },
  { heading: "After", isFigure: true },
];

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
  )}${renderTable(
    "Readings",
    [{ heading: "Reading" }, ...beforeAndAfter],
    changes.map((change) => {
      const [label, before, after, note] = changeRow(change, context);
      return [
        { content: label },
        { content: before, title: String(change.before) },
        {
          content:
            note === undefined || note === ""
              ? after
              : html`${after} <span class="quiet">${note}</span>`,
          title: String(change.after),
        },
      ];
    }),
  )}${renderTable(
    "Balances",
    [
      { heading: "Account" },
      ...beforeAndAfter,
      { heading: "Difference", isFigure: true },
    ],
    balanceRows(shown).map(([label, before, after, difference], index) => [
      { content: label, title: balances[index]?.account },
      { content: before, title: balances[index]?.before.toString() },
      { content: after, title: balances[index]?.after.toString() },
      { content: difference },
    ]),
  )}${renderTable(
    "Transfers",
    [
      { heading: "From" },
      { heading: "To" },
      { heading: "Amount", isFigure: true },
    ],
    transferRows(shown).map(([amount, from, to], index) => [
      { content: from, title: transfers?.[index]?.from },
      { content: to, title: transfers?.[index]?.to },
      { content: amount, title: transfers?.[index]?.amount.toString() },
    ]),
  )}${
    transfers === null
      ? html`<p class="quiet">What executed it does not see transfers.</p> `
      : undefined
  }${[...notes, `Nothing was sent to ${network}.`].map(
    (note) => html`<p class="quiet">${note}</p> `,
  )}`;
}

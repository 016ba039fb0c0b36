import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import {
  balanceRows,
  changeRow,
  outcomeFacts,
  transferRows,
} from "../output/simulation.js";
import type { ShownSimulation } from "../output/simulation.js";
import type { Column } from "../output/table.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { factsTable, renderTable } from "./table.js";

const asItIs = { good: (text: string) => text, bad: (text: string) => text };

const beforeAndAfter: readonly Column[] = [
  { heading: "Before", align: "right" },
  { heading: "After", align: "right" },
];

/** What a settlement would do: before, after, and what moves. */
export function renderSimulationPage(
  shown: ShownSimulation,
  { network }: Envelope,
  context: FormatContext,
): Markup {
  const { changes, transfers, notes } = shown.simulation;
  return html`${factsTable(outcomeFacts(shown, asItIs))}
  ${renderTable(
    "Readings",
    [{ heading: "Reading" }, ...beforeAndAfter, { heading: "Note" }],
    changes.map((change) => changeRow(change, context)),
  )}
  ${renderTable(
    "Balances",
    [
      { heading: "Account" },
      ...beforeAndAfter,
      { heading: "Difference", align: "right" },
    ],
    balanceRows(shown),
  )}
  ${renderTable(
    "Transfers",
    [
      { heading: "Amount", align: "right" },
      { heading: "From" },
      { heading: "To" },
    ],
    transferRows(shown),
  )}
  ${[
    ...(transfers === null ? ["What executed it does not see transfers."] : []),
    ...notes,
    `Nothing was sent to ${network}.`,
  ].map((note) => html`<p class="quiet">${note}</p> `)}`;
}

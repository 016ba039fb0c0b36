import { describeTime } from "../../src/protocol/time.js";
import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import { notesOnRounds, roundColumns, toRoundRow } from "../output/rounds.js";
import { strikesFigure } from "./charts.js";
import type { ReportedRound } from "./charts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderTable } from "./table.js";

/** Every round that was found, over time and one by one. */
export function renderRounds(
  rounds: readonly ReportedRound[],
  { block }: Envelope,
  context: FormatContext,
): Markup {
  return rounds.length === 0
    ? html`<p>No round was found.</p> `
    : html`${strikesFigure(rounds, context)}
      ${notesOnRounds(rounds).map((note) => html`<p>${note}</p> `)}
      ${renderTable(
        "Every round",
        [...roundColumns, { heading: "Settled at" }],
        rounds.map((round) => [
          ...toRoundRow(round, block.number, context),
          round.settledTime === undefined
            ? ""
            : describeTime(BigInt(round.settledTime)),
        ]),
      )}`;
}

import type { PastRound } from "../../src/client/index.js";
import { describeShare } from "../output/bar.js";
import { describeCount, fieldOf, groupDigits } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import { describeSettled, notesOnRounds } from "../output/rounds.js";
import {
  datedRounds,
  figure,
  fillChart,
  strikesChart,
  yieldsChart,
} from "./charts.js";
import { figureOf } from "./facts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";

const shown = (
  [
    "startTime",
    "endTime",
    "strikePrice",
    "settledPrice",
    "APY",
    "filledVolume",
  ] as const
).map((name) => fieldOf("getLatestRoundInfo", name));

const ROWS = 25;

/** Every round that was found, as charts over time and one by one. */
export function renderRounds(
  rounds: readonly PastRound[],
  { block }: Envelope,
  context: FormatContext,
): Markup {
  if (rounds.length === 0) {
    return html`<p>No round was found.</p> `;
  }
  const dated = datedRounds(rounds);
  const undrawn = rounds.length - dated.length;
  return html`${
      dated.length === 0
        ? undefined
        : html`<div class="beside">
            ${figure(
              "Strike against settled price",
              html`<i class="key line"></i>strike<i class="key fill"></i>settled
                at`,
              strikesChart(dated, context),
            )}${figure("Fill", "of the maximum volume", fillChart(dated))}${figure("APY", "", yieldsChart(dated, context))}
          </div> `
    }${[
      ...(undrawn === 0
        ? []
        : [`${describeCount(undrawn, "round")} without times to be drawn at.`]),
      ...notesOnRounds(rounds),
    ].map((note) => html`<p>${note}</p> `)}
    <h3>Every round</h3>
    <div class="scroll" tabindex="0" role="region" aria-label="Every round">
      <table data-rows="${ROWS}" data-most="${ROWS}" data-what="Rounds">
        <thead>
          <tr>
            ${shown.map(
              ({ label, unit }) =>
                html`<th
                  scope="col"
                  ${unit === "timestamp" ? undefined : html` class="n"`}
                >
                  ${label}
                </th>`,
            )}
            <th scope="col" class="n">Filled</th>
            <th scope="col" class="n">First block</th>
            <th scope="col" class="n">Settled in</th>
            <th scope="col" class="n">Last block</th>
          </tr>
        </thead>
        <tbody>
          ${rounds.map(
            (round) =>
              html`<tr>
                ${shown.map((field) => {
                  const { text, title } = figureOf(
                    field,
                    round[field.name],
                    context,
                  );
                  return html`<td${field.unit === "timestamp" ? undefined : html` class="n"`}${title}>${text}</td>`;
                })}
                <td class="n">
                  ${describeShare(round.filledVolume, round.maxVolume)}
                </td>
                ${[
                  blockCell(round.firstBlock),
                  blockCell(
                    round.settledBlock ?? "",
                    describeSettled(round, block.number),
                  ),
                  blockCell(round.lastBlock),
                ]}
              </tr> `,
          )}
        </tbody>
      </table>
    </div> `;
}

function blockCell(
  block: number | "",
  text = groupDigits(String(block)),
): Markup {
  return html`<td class="n" title="${block}">${text}</td>`;
}

import type { PastRound } from "../../src/client/index.js";
import { operations } from "../../src/protocol/index.js";
import { describeShare } from "../output/bar.js";
import { describeCount, groupDigits } from "../output/format-value.js";
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

const fields = operations.getLatestRoundInfo.outputs;
const names = [
  "startTime",
  "endTime",
  "strikePrice",
  "settledPrice",
  "APY",
  "filledVolume",
] as const;
const shown = names.flatMap((name) =>
  fields.filter((field) => field.name === name),
);

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
              ({ label, type, unit }) =>
                html`<th
                  scope="col"
                  ${type === "uint256" && unit !== "timestamp" ? html` class="n"` : undefined}
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
                  [
                    groupDigits(String(round.firstBlock)),
                    round.firstBlock,
                  ] as const,
                  [
                    describeSettled(round, block.number),
                    round.settledBlock ?? "",
                  ] as const,
                  [
                    groupDigits(String(round.lastBlock)),
                    round.lastBlock,
                  ] as const,
                ].map(
                  ([text, title]) =>
                    html`<td class="n" title="${title}">${text}</td>`,
                )}
              </tr> `,
          )}
        </tbody>
      </table>
    </div> `;
}

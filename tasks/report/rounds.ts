import { fieldsOf, groupDigits } from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import { describeCount, describeShare } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { Envelope } from "../output/heading.js";
import { describeSettled, notesOnRounds } from "../output/rounds.js";
import type { Column } from "../output/table.js";
import { datedRounds, figure, strikesChart } from "./charts.js";
import type { ReportedRound } from "./charts.js";
import { figureOf } from "./facts.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { renderTable } from "./table.js";
import type { Cell } from "./table.js";

const shown = fieldsOf("getLatestRoundInfo", [
  "startTime",
  "endTime",
  "strikePrice",
  "settledPrice",
  "APY",
  "filledVolume",
]);

const columns: readonly Column[] = [
  ...shown.map(({ label, unit }): Column => ({
    heading: label,
    align: unit === "timestamp" ? "left" : "right",
  })),
  ...["Filled", "First block", "Settled in", "Settled at", "Last block"].map(
    (heading): Column => ({ heading, align: "right" }),
  ),
];

/** Every round that was found, over time and one by one. */
export function renderRounds(
  rounds: readonly ReportedRound[],
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
      : figure(
          "Strike against settled price",
          html`<i class="key line"></i>strike<i class="key fill"></i>settled at`,
          strikesChart(dated, context),
        )
  }${[
    ...(undrawn === 0
      ? []
      : [`${describeCount(undrawn, "round")} without times to be drawn at.`]),
    ...notesOnRounds(rounds),
  ].map((note) => html`<p>${note}</p> `)}
  ${renderTable(
    "Every round",
    columns,
    rounds.map((round) => [
      ...shown.map((field) => figureOf(field, round[field.name], context)),
      { text: describeShare(round.filledVolume, round.maxVolume) },
      blockCell(round.firstBlock),
      {
        text: describeSettled(round, block.number),
        title: round.settledBlock?.toString(),
      },
      {
        text:
          round.settledTime === undefined
            ? undefined
            : describeTime(BigInt(round.settledTime)),
      },
      blockCell(round.lastBlock),
    ]),
  )}`;
}

function blockCell(block: number): Cell {
  const title = String(block);
  return { text: groupDigits(title), title };
}

import { plot } from "simple-ascii-chart";

import { fieldsOf, groupDigits } from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import type { ListedRehearsal } from "../../src/rehearsal/rehearse-past.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { describeCount, formatValue } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import type { Style, View } from "./style.js";
import { renderTable, wrapText } from "./table.js";
import type { Column } from "./table.js";

/** Rows of the plot. */
const PLOT_HEIGHT = 8;
/** Columns of the plot, where the terminal has so many. */
const PLOT_WIDTH = 60;
/** What stands left of it: the axis and its numbers. */
const AXIS_WIDTH = 14;

/** What a settlement writes into the round. */
const shown = fieldsOf("getLatestRoundInfo", ["settledPrice", "settledAmount"]);

/** Rehearsals for a person: a row each, and their gas as a plot. */
export function renderRehearsals(
  rehearsals: readonly ListedRehearsal[],
  sender: string,
  envelope: Envelope,
  view: View,
): string {
  const settled = rehearsals.filter(
    (rehearsal) => "status" in rehearsal && rehearsal.status === "settled",
  );
  return [
    renderHeading("Rehearsals of the past", envelope, view),
    renderTable(
      [
        { heading: "Block", align: "right" },
        { heading: "Time" },
        { heading: "Outcome" },
        { heading: "Gas", align: "right" },
        ...shown.map(({ label }): Column => ({
          heading: label,
          align: "right",
        })),
      ],
      rehearsals.map((rehearsal) => toRow(rehearsal, view)),
      view,
    ),
    ...renderPlot(rehearsals, view),
    wrapText(
      `${sender} would have settled at ${settled.length} of ${describeCount(rehearsals.length, "block")}. Nothing was sent.`,
      view,
    ),
  ].join("\n");
}

function toRow(rehearsal: ListedRehearsal, view: View): string[] {
  const number = groupDigits(String(rehearsal.block.number));
  if ("error" in rehearsal) {
    return [number, "", view.bad(rehearsal.error.shortMessage)];
  }
  const { block, status, reason, gasUsed } = rehearsal;
  const time = describeTime(BigInt(block.timestamp));
  if (status !== "settled") {
    const why = reason === null ? "" : `: ${escapeUntrusted(reason)}`;
    return [number, time, `${status.replaceAll("-", " ")}${why}`];
  }
  return [
    number,
    time,
    view.good(status),
    gasUsed === null ? "" : groupDigits(gasUsed.toString()),
    ...shown.map((field) => {
      const value = rehearsal[field.name];
      return value === null
        ? "not known"
        : formatValue(field, value, view).text;
    }),
  ];
}

/** On a terminal alone: elsewhere lines are for programs. */
function renderPlot(
  rehearsals: readonly ListedRehearsal[],
  style: Style,
): readonly string[] {
  const points = rehearsals.flatMap((rehearsal): Array<[number, number]> =>
    "error" in rehearsal || rehearsal.gasUsed === null
      ? []
      : [[rehearsal.block.number, Number(rehearsal.gasUsed)]],
  );
  const width = Math.min(PLOT_WIDTH, style.width - AXIS_WIDTH);
  if (!Number.isFinite(style.width) || points.length < 2 || width < 20) {
    return [];
  }
  const drawn = plot(points, {
    width,
    height: PLOT_HEIGHT,
    formatter: (value) => groupDigits(String(Math.round(value))),
    hideXAxisTicks: true,
    hideYAxisTicks: false,
  });
  return [
    "",
    style.dim("Gas used, by block"),
    drawn
      .split("\n")
      .map((line) => line.trimEnd())
      .filter((line) => line !== "")
      .join("\n"),
    "",
  ];
}

import { stringify } from "csv-stringify/sync";

import type { PastRound } from "../../src/client/index.js";
import { fieldsOf, operations, groupDigits } from "../../src/protocol/index.js";
import { toSafeJson } from "../../src/untrusted-text.js";
import { toDocument } from "../parse-options.js";
import { describeCount, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { renderHeading } from "./heading.js";
import type { Envelope } from "./heading.js";
import type { ListingForm } from "./listing.js";
import { renderNotes } from "./readings.js";
import type { View } from "./style.js";
import { renderTable, wrapText } from "./table.js";
import type { Column } from "./table.js";

const fields = operations.getLatestRoundInfo.outputs;

/** What of a round fits beside each other; JSON and CSV have all of it. */
const shown = fieldsOf("getLatestRoundInfo", [
  "startTime",
  "endTime",
  "strikePrice",
  "filledVolume",
  "settledPrice",
]);

/** Rounds in that form. */
export function renderRounds(
  form: ListingForm,
  envelope: Envelope,
  rounds: readonly PastRound[],
  view: View,
): string {
  switch (form) {
    case "csv":
      return toCsv(rounds);
    case "ndjson":
      return rounds
        .map((round) => `${toSafeJson(toDocument(round))}\n`)
        .join("");
    case "json":
      return `${toSafeJson(toDocument({ ...envelope, rounds, notes: notesOnRounds(rounds) }))}\n`;
    case "table":
      return toText(envelope, rounds, view);
  }
}

/** CSV with a header row; what was not seen is an empty cell. */
function toCsv(rounds: readonly PastRound[]): string {
  return stringify(
    rounds.map((round) => ({ unreadBlocks: 0, outOfOrder: false, ...round })),
    {
      header: true,
      columns: [
        ...fields.map(({ name }) => name),
        "firstBlock",
        "settledBlock",
        "lastBlock",
        "unreadBlocks",
        "outOfOrder",
      ],
      cast: { boolean: String },
    },
  );
}

export const roundColumns: readonly Column[] = [
  ...shown.map(({ label, unit }): Column => ({
    heading: label,
    align: unit === "timestamp" ? "left" : "right",
  })),
  { heading: "First block", align: "right" },
  { heading: "Settled in", align: "right" },
  { heading: "Last block", align: "right" },
];

/** The cells of a round in a table. */
export function toRoundRow(
  round: PastRound,
  latest: number,
  context: FormatContext,
): readonly string[] {
  return [
    ...shown.map(
      (field) => formatValue(field, round[field.name], context).text,
    ),
    groupDigits(String(round.firstBlock)),
    describeSettled(round, latest),
    groupDigits(String(round.lastBlock)),
  ];
}

/** A table for a person, and what has to be known about it. */
function toText(
  envelope: Envelope,
  rounds: readonly PastRound[],
  view: View,
): string {
  const latest = envelope.block.number;
  const rows = rounds.map((round) => toRoundRow(round, latest, view));
  const settled = rounds.filter(({ settledBlock }) => settledBlock !== null);
  return `${[
    renderHeading("Rounds", envelope, view),
    ...(rows.length === 0 ? [] : [renderTable(roundColumns, rows, view), ""]),
    wrapText(
      [
        `${describeCount(rounds.length, "round")}; ${settled.length} seen to be settled.`,
        ...notesOnRounds(rounds).map((note) => view.warn(note)),
        ...(rounds.some((round) => describeSettled(round, latest) === NOT_SEEN)
          ? [
              view.dim(
                `'${NOT_SEEN}': no block shows this round settled. It was replaced unsettled, or in the block that settled it.`,
              ),
            ]
          : []),
      ].join("\n"),
      view,
    ),
    ...renderNotes(shown, view),
  ].join("\n")}\n`;
}

const NOT_SEEN = "not seen";

/** The block that settled it, or why none can be named. */
function describeSettled(
  { settled, settledBlock, lastBlock }: PastRound,
  latest: number,
): string {
  return settledBlock !== null
    ? groupDigits(String(settledBlock))
    : settled
      ? "before"
      : lastBlock === latest
        ? "not yet"
        : NOT_SEEN;
}

/** What a reader of the list must not miss. */
export function notesOnRounds(rounds: readonly PastRound[]): string[] {
  const unread = Math.max(0, ...rounds.map((round) => round.unreadBlocks ?? 0));
  const notes = rounds.flatMap((round, index) => {
    const before = rounds[index - 1];
    return [
      ...(before !== undefined && before.lastBlock + 1 < round.firstBlock
        ? [
            `No round could be read from block ${before.lastBlock + 1} to ${round.firstBlock - 1}: the contract was not there, or had none.`,
          ]
        : []),
      ...(round.outOfOrder === true
        ? [
            `The round first seen in block ${round.firstBlock} breaks the order that the search relies on: a round before it starts later, or it came back, or it stopped being settled. There may be rounds that were passed over.`,
          ]
        : []),
    ];
  });
  const most =
    unread === 1
      ? "1 block at a time was"
      : `${groupDigits(String(unread))} blocks in a row were`;
  return unread === 0
    ? notes
    : [
        ...notes,
        `Between two blocks with the same round, up to ${most} not read: a contract that was gone there for a while is not noticed.`,
      ];
}

import type { PastRound } from "../../src/client/rounds.js";
import {
  describeTime,
  fieldsOf,
  groupDigits,
  operations,
} from "../../src/protocol/index.js";
import { notes, present, table, title, toned } from "./blocks.js";
import type { Block, Column, Content, Envelope } from "./blocks.js";
import { describeCount, formatValue } from "./format-value.js";
import type { FormatContext } from "./format-value.js";
import { csvRow, describeScaled } from "./listing.js";
import type { Listing, ListingContext } from "./listing.js";

const fields = operations.getLatestRoundInfo.outputs;

/** The columns that fit a terminal; JSON and CSV have all of them. */
const shown = fieldsOf("getLatestRoundInfo", [
  "startTime",
  "endTime",
  "strikePrice",
  "filledVolume",
  "settledPrice",
]);

export function roundListing(
  envelope: Envelope,
  rounds: AsyncIterable<PastRound>,
  context: ListingContext,
): Listing<PastRound> {
  const said: string[] = [];
  return {
    items: (async function* () {
      let before: PastRound | undefined;
      for await (const round of rounds) {
        said.push(...notesOn(before, round.firstBlock));
        yield round;
        before = round;
      }
      said.push(...notesOn(before, envelope.block.number + 1));
    })(),
    noun: "round",
    toJson: (round) => round,
    document: (all) => ({ ...envelope, rounds: all, notes: said }),
    csvColumns: [
      ...fields.map(({ name }) => name),
      "firstBlock",
      "settledBlock",
      "lastBlock",
      "outOfOrder",
    ],
    toCsv: (round) => ({
      outOfOrder: false,
      ...csvRow(round, fields, context),
    }),
    async *blocks(items) {
      const all = await Array.fromAsync(items);
      yield [
        title("Rounds", envelope),
        ...roundBlocks(all, envelope.block.number, context),
      ];
    },
    notes: () => present([...said, describeScaled(fields, context)]),
  };
}

export interface ReportedRound extends PastRound {
  /** Unix seconds. */
  readonly settledTime?: number | undefined;
}

export function roundBlocks(
  rounds: readonly ReportedRound[],
  latest: number,
  context: FormatContext,
): readonly Block[] {
  const settled = rounds.filter(({ settledBlock }) => settledBlock !== null);
  return [
    table(
      [
        ...shown.map(({ label, unit }): Column => ({
          heading: label,
          align: unit === "timestamp" ? "left" : "right",
        })),
        { heading: "First block", align: "right" },
        { heading: "Settled block", align: "right" },
        { heading: "Settled at", align: "right" },
        { heading: "Last block", align: "right" },
      ],
      rounds.map((round) => [
        ...shown.map((field) =>
          // Null for what a settlement writes, unless it was seen.
          round[field.name] === null
            ? round.lastBlock === latest
              ? NOT_YET
              : {
                  text: NOT_SEEN,
                  footnote: `'${NOT_SEEN}' as settled price: no block shows it. If the round was settled, that block opened the next one.`,
                }
            : formatValue(field, round[field.name], context),
        ),
        groupDigits(String(round.firstBlock)),
        describeSettled(round, latest),
        round.settledTime === undefined
          ? ""
          : describeTime(BigInt(round.settledTime)),
        groupDigits(String(round.lastBlock)),
      ]),
    ),
    notes(
      `${describeCount(rounds.length, "round")}; ${settled.length} settled.`,
      ...rounds
        .flatMap((round, index) =>
          notesOn(round, rounds[index + 1]?.firstBlock ?? latest + 1),
        )
        .map((note) => toned("warn", note)),
    ),
  ];
}

const NOT_SEEN = "not seen";
const NOT_YET = "not yet";

/** The block that settled the round, or the reason why it is unknown. */
function describeSettled(
  { settled, settledBlock, lastBlock }: PastRound,
  latest: number,
): Content {
  return settledBlock !== null
    ? groupDigits(String(settledBlock))
    : settled
      ? "before"
      : lastBlock === latest
        ? NOT_YET
        : {
            text: NOT_SEEN,
            footnote: `'${NOT_SEEN}' as settled block: no block that could be read shows this round settled. The block that replaced it may have settled it.`,
          };
}

/** Doubts about a round, and the gap behind it. @param next First block of the next one. */
function notesOn(round: PastRound | undefined, next: number): string[] {
  return round === undefined
    ? []
    : present([
        round.outOfOrder === true &&
          `The round first seen in block ${round.firstBlock} breaks the order that the search relies on: a round before it starts later, or it came back, or it stopped being settled. There may be rounds that were passed over.`,
        round.lastBlock + 1 < next &&
          `No round could be read from block ${round.lastBlock + 1} to ${next - 1}: the contract was not there, or had none.`,
      ]);
}

import type { PastRound } from "../src/client/rounds.js";
import { groupDigits, operations } from "../src/protocol/index.js";
import { tasks } from "./definitions.js";
import { pinVault, readAction } from "./open-vault.js";
import { present, table, toned } from "./output/blocks.js";
import type {
  Block,
  Cell,
  Column,
  Content,
  Envelope,
} from "./output/blocks.js";
import { describeCount, formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { parseListingForm, writeListing } from "./output/listing.js";
import type { Listing } from "./output/listing.js";

export default readAction(tasks.rounds, async (vault, args, { terminal }) => {
  const form = parseListingForm(args);
  const { fromBlock, block, toBlock = block, from, raw } = args;
  const { envelope, pin } = await pinVault(vault, toBlock);
  const rounds = vault.rounds({
    fromBlock,
    toBlock: pin,
    from,
    onProgress: (far) => {
      terminal.progress("Reading blocks", far);
    },
  });
  const chainTime = envelope.block.timestamp;
  const listing = roundListing(envelope, rounds, {
    ...vault.settings,
    chainTime,
    raw,
  });
  await writeListing(listing, form, args, terminal);
  return { streamed: true, ok: true };
});

const { outputs: fields } = operations.getLatestRoundInfo;

export function roundListing(
  envelope: Envelope,
  rounds: AsyncIterable<PastRound>,
  context: FormatContext,
): Listing<PastRound> {
  const latest = envelope.block.number;
  const seen: PastRound[] = [];
  return {
    noun: "round",
    envelope,
    context,
    items: (async function* () {
      for await (const round of rounds) {
        seen.push(round);
        yield round;
      }
    })(),
    fields,
    document: (all) => ({
      ...envelope,
      rounds: all,
      notes: doubtsAbout(seen, latest),
    }),
    toJson: (round) => round,
    csvColumns: [
      ...fields.map(({ name }) => name),
      "firstBlock",
      "settledBlock",
      "lastBlock",
      "outOfOrder",
    ],
    toCsv: (round) => ({ outOfOrder: false, ...round }),
    toTable: (some) => roundTable(some, latest, context),
    count: () => seen.length,
    summary: () => describeRounds(seen, latest),
    doubts: () => doubtsAbout(seen, latest),
  };
}

/** The values that fit a terminal; JSON and CSV have all of them. */
const shown = [
  "startTime",
  "endTime",
  "strikePrice",
  "filledVolume",
  "settledPrice",
].flatMap((shownName) =>
  operations.getLatestRoundInfo.outputs.filter(
    ({ name }) => name === shownName,
  ),
);

export function roundTable(
  rounds: readonly PastRound[],
  latest: number,
  context: FormatContext,
): Block {
  return table(
    [
      ...shown.map(({ label, unit }): Column => ({
        heading: label.replace(" volume", ""),
        align: unit === "timestamp" ? "left" : "right",
      })),
      { heading: "First block", align: "right" },
      { heading: "Settled in", align: "right" },
      { heading: "Last block", align: "right" },
    ],
    rounds.map((round) => {
      const { firstBlock, settledBlock, lastBlock } = round;
      const absent = lastBlock === latest ? "not yet" : NOT_SEEN;
      return [
        ...shown.map((field) =>
          round[field.name] === null
            ? absent
            : formatValue(field, round[field.name], context),
        ),
        groupDigits(`${firstBlock}`),
        settledBlock !== null
          ? groupDigits(`${settledBlock}`)
          : round.settled
            ? "before"
            : absent,
        groupDigits(`${lastBlock}`),
      ];
    }),
  );
}

const NOT_SEEN: Cell = {
  text: "not seen",
  footnote:
    "'not seen': no block that could be read shows the round settled. The block that replaced it may have settled it.",
};

/** The number of rounds, and the doubts about them. */
export function describeRounds(
  rounds: readonly PastRound[],
  latest: number,
): readonly Content[] {
  const settled = rounds.filter(({ settledBlock }) => settledBlock !== null);
  return [
    `${describeCount(rounds.length, "round")}; ${settled.length} settled.`,
    ...doubtsAbout(rounds, latest).map((doubt) => toned("warn", doubt)),
  ];
}

function doubtsAbout(rounds: readonly PastRound[], latest: number): string[] {
  return rounds.flatMap(({ firstBlock, lastBlock, outOfOrder }, index) => {
    const next = rounds[index + 1]?.firstBlock ?? latest + 1;
    return present([
      outOfOrder === true &&
        `The round first seen in block ${firstBlock} breaks the order that the search relies on: a round before it starts later, or it came back, or it stopped being settled. There may be rounds that were passed over.`,
      lastBlock + 1 < next &&
        `No round could be read from block ${lastBlock + 1} to ${next - 1}: the contract was not there, or had none.`,
    ]);
  });
}

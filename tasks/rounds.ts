import type { PastRound } from "../src/client/rounds.js";
import { groupDigits, operations } from "../src/protocol/index.js";
import { tasks } from "./definitions.js";
import { pinVault, readAction } from "./open-vault.js";
import { present, table } from "./output/screen.js";
import type { Envelope, Table } from "./output/screen.js";
import { writeListing } from "./output/listing.js";
import type { Listing } from "./output/listing.js";
import { formatValue } from "./output/values.js";
import type { FormatContext } from "./output/values.js";

export default readAction(tasks.rounds, async (vault, args, { terminal }) => {
  const { fromBlock, block, toBlock = block, from, raw } = args;
  const { envelope, pin } = await pinVault(vault, toBlock);
  const rounds = vault.rounds({
    fromBlock,
    toBlock: pin,
    from,
    onProgress: (far) => terminal.progress("Reading blocks", far),
  });
  const chainTime = envelope.block.timestamp;
  const context = { ...vault.display, chainTime, raw };
  const listing = roundListing(envelope, rounds, context);
  await writeListing(listing, args, terminal);
  return true;
});

const { outputs: fields } = operations.getLatestRoundInfo;

export function roundListing(
  envelope: Envelope,
  rounds: AsyncIterable<PastRound>,
  context: FormatContext,
): Listing<PastRound> {
  const latest = envelope.block.number;
  const seen: PastRound[] = [];
  async function* items(): AsyncGenerator<PastRound, void, undefined> {
    for await (const round of rounds) {
      seen.push(round);
      yield round;
    }
  }
  const doubts = (): readonly string[] => doubtsAbout(seen, latest);
  return {
    operation: "getLatestRoundInfo",
    envelope,
    context,
    items: items(),
    toJson: (all) => ({ rounds: all, notes: doubts() }),
    columns: [
      ...fields.map(({ name }) => name),
      "firstBlock",
      "settledBlock",
      "lastBlock",
      "outOfOrder",
    ],
    toRow: (round) => ({ outOfOrder: false, ...round }),
    toTable: (some) => roundTable(some, latest, context),
    doubts,
  };
}

/** The values that fit a terminal; JSON and CSV have all of them. */
const shown = fields.filter(({ name }) =>
  /^(?:startTime|endTime|strikePrice|filledVolume|settledPrice)$/u.test(name),
);

function roundTable(
  rounds: readonly PastRound[],
  latest: number,
  context: FormatContext,
): Table {
  return table(
    [
      ...shown.map(({ label }) => label.replace(" volume", "")),
      "First block",
      "Settled in",
    ],
    rounds.map((round) => {
      const { firstBlock, settledBlock, lastBlock, settled } = round;
      const absent = lastBlock === latest ? "not yet" : "not seen";
      const unknown = settled ? "before" : absent;
      return [
        ...shown.map((field) =>
          round[field.name] === null
            ? absent
            : formatValue(field, round[field.name], context),
        ),
        groupDigits(`${firstBlock}`),
        settledBlock === null ? unknown : groupDigits(`${settledBlock}`),
      ];
    }),
  );
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

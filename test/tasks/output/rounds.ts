import { expect } from "chai";

import type { PastRound } from "../../../src/client/index.js";
import type { ListingForm } from "../../../tasks/output/listing.js";
import { renderListing } from "../../../tasks/output/listing.js";
import { renderText } from "../../../tasks/output/render-text.js";
import { roundBlocks, roundListing } from "../../../tasks/output/rounds.js";
import type { ReportedRound } from "../../../tasks/output/rounds.js";
import { createStyle } from "../../../tasks/output/style.js";
import { squeezed } from "../../helpers/use-tasks.js";

const ONE = 10n ** 18n;
const LATEST = 2_000;
const envelope = {
  network: "live",
  chainId: 56,
  block: { number: LATEST, timestamp: 1_700_000_000 },
};
const context = {
  tokenDecimals: 1,
  chainTime: 1_700_000_000,
  raw: false,
  scaled: false,
};

/** A round that block 1,500 settled. */
const settled: PastRound = {
  ...{ strikePrice: 100n * ONE, APY: 2n, maxVolume: 30n },
  ...{ filledVolume: 41n, minDeposit: 5n },
  ...{ startTime: 1_600_000_000n, endTime: 1_600_003_600n },
  ...{ settledPrice: 8n * ONE, settledAmount: 9n, settled: true },
  ...{ firstBlock: 1_000, settledBlock: 1_500, lastBlock: 1_999 },
};
const open: PastRound = {
  ...settled,
  ...{ settledPrice: null, settledAmount: null, settled: false },
  ...{ firstBlock: LATEST, settledBlock: null, lastBlock: LATEST },
};

const linesOf = (...rounds: readonly ReportedRound[]): readonly string[] =>
  squeezed(
    renderText(roundBlocks(rounds, LATEST, context), createStyle({})),
  ).split("\n");

async function render(
  form: ListingForm,
  ...rounds: readonly PastRound[]
): Promise<string> {
  const listing = roundListing(
    envelope,
    (async function* () {
      yield* await Promise.resolve(rounds);
    })(),
    context,
  );
  const pieces = renderListing(listing, form, createStyle({}));
  return (await Array.fromAsync(pieces)).join("");
}

describe("output of vault rounds", () => {
  it("roundBlocks shows of a round its times, prices, volume and blocks, and of an open one what is not yet", () => {
    expect(linesOf(settled, open)).to.deep.equal([
      "Start · End · Strike price · Filled volume · Settled price · First block · Settled block · Last block",
      "2020-09-13T12:26:40Z · 2020-09-13T13:26:40Z · 100 · 4.1 tokens · 8 · 1,000 · 1,500 · 1,999",
      "2020-09-13T12:26:40Z · 2020-09-13T13:26:40Z · 100 · 4.1 tokens · not yet · 2,000 · not yet · 2,000",
      "",
      "2 rounds; 1 settled.",
    ]);
  });

  it("roundBlocks shows the time of the block that settled a round, if it is given", () => {
    const [heading, row] = linesOf({ ...settled, settledTime: 1_600_007_200 });
    expect(heading).to.include(" · Settled block · Settled at · Last block");
    expect(row).to.include(" · 1,500 · 2020-09-13T14:26:40Z · 1,999");
  });

  it("roundBlocks explains below the table what no block shows of a settlement", () => {
    const price =
      "'not seen' as settled price: no block shows it. If the round was settled, that block opened the next one.";
    const block =
      "'not seen' as settled block: no block that could be read shows this round settled, nor does a transaction of the block that replaced it.";
    const unseen = { settledPrice: null, settledAmount: null };
    for (const [round, ends, footnotes] of [
      // Its last block settled it, and opened the next round.
      [
        { ...settled, ...unseen, settledBlock: 2_000 },
        "not seen · 1,000 · 2,000 · 1,999",
        [price],
      ],
      [
        { ...settled, ...unseen, settled: false, settledBlock: null },
        "not seen · 1,000 · not seen · 1,999",
        [price, block],
      ],
      [{ ...settled, settledBlock: null }, "8 · 1,000 · before · 1,999", []],
    ] as const) {
      const [, row, , , ...rest] = linesOf(round, open);
      expect(row?.slice(row.indexOf("tokens") + 9)).to.equal(ends);
      expect(rest.filter((line) => line.startsWith("'"))).to.deep.equal(
        footnotes,
      );
    }
  });

  it("roundBlocks notes each gap between rounds, and behind the last one", () => {
    const late = { ...settled, lastBlock: 1_997 };
    expect(linesOf(late, open).slice(4)).to.deep.equal([
      "2 rounds; 1 settled.",
      "No round could be read from block 1998 to 1999: the contract was not there, or had none.",
    ]);
    expect(linesOf(late).slice(3)).to.deep.equal([
      "1 round; 1 settled.",
      "No round could be read from block 1998 to 2000: the contract was not there, or had none.",
    ]);
    expect(linesOf({ ...late, lastBlock: LATEST }).slice(3)).to.deep.equal([
      "1 round; 1 settled.",
    ]);
  });

  it("roundBlocks notes a round out of order, before the gap behind it, and last the longest stretch that was not read", () => {
    const notes = linesOf(
      { ...settled, outOfOrder: true, unreadBlocks: 7, lastBlock: 1_998 },
      { ...open, unreadBlocks: 1 },
    ).slice(5);
    expect(notes.map((note) => note.split(":")[0])).to.deep.equal([
      "The round first seen in block 1000 breaks the order that the search relies on",
      "No round could be read from block 1999 to 1999",
      "Up to 7 blocks in a row were not read, since the blocks before and after show the same round. If the contract was missing in between, the list does not show it.",
    ]);
    expect(linesOf({ ...open, unreadBlocks: 1 }).at(-1)).to.match(
      /^Up to 1 block in a row was not read/u,
    );
  });

  it("roundBlocks warns of gaps and of a wrong order, and not of what was only not read", () => {
    const [, noted] = roundBlocks(
      [
        { ...settled, outOfOrder: true, unreadBlocks: 7, lastBlock: 1_998 },
        open,
      ],
      LATEST,
      context,
    );
    expect(
      noted?.kind === "notes" ? noted.notes.map(({ tone }) => tone) : noted,
    ).to.deep.equal([undefined, "warn", "warn", "dim"]);
  });

  it("roundBlocks aligns times to the left, and numbers to the right", () => {
    const [block] = roundBlocks([settled], LATEST, context);
    expect(
      block?.kind === "table" ? block.columns.map(({ align }) => align) : block,
    ).to.deep.equal([
      "left",
      "left",
      ...Array.from({ length: 6 }, () => "right"),
    ]);
  });

  it("a table of rounds has a title and what roundBlocks shows", async () => {
    const late = { ...settled, lastBlock: 1_998 };
    const text = await render("table", late, open);
    expect(squeezed(text).split("\n")).to.deep.equal([
      "Rounds · live (chain 56), block 2000, 2023-11-14T22:13:20Z",
      ...linesOf(late, open),
      "",
    ]);
  });

  it("CSV has every value of a round in its column, unscaled, and nothing for null", async () => {
    const csv = await render(
      "csv",
      { ...settled, unreadBlocks: 6, outOfOrder: true },
      open,
    );
    expect(csv.split("\n")).to.deep.equal([
      "strikePrice,APY,maxVolume,filledVolume,minDeposit,startTime,endTime,settledPrice,settledAmount,settled,firstBlock,settledBlock,lastBlock,unreadBlocks,outOfOrder",
      "100000000000000000000,2,30,41,5,1600000000,1600003600,8000000000000000000,9,true,1000,1500,1999,6,true",
      "100000000000000000000,2,30,41,5,1600000000,1600003600,,,false,2000,,2000,0,false",
      "",
    ]);
  });

  it("JSON has the block, the rounds as they were found, and the notes", async () => {
    const unscaled = {
      ...{ strikePrice: "100000000000000000000", APY: "2", maxVolume: "30" },
      ...{ filledVolume: "41", minDeposit: "5" },
      ...{ startTime: "1600000000", endTime: "1600003600" },
      ...{ settledPrice: "8000000000000000000", settledAmount: "9" },
      ...{ settled: true, firstBlock: 1_000, settledBlock: 1_500 },
      lastBlock: 1_998,
    };
    const late = { ...settled, lastBlock: 1_998 };
    const document: unknown = JSON.parse(await render("json", late, open));
    expect(document).to.deep.equal({
      ...envelope,
      rounds: [
        unscaled,
        {
          ...unscaled,
          ...{ settledPrice: null, settledAmount: null, settled: false },
          ...{ firstBlock: LATEST, settledBlock: null, lastBlock: LATEST },
        },
      ],
      notes: [
        "No round could be read from block 1999 to 1999: the contract was not there, or had none.",
      ],
    });
    const [line = ""] = (await render("ndjson", late, open)).split("\n");
    expect(JSON.parse(line)).to.deep.equal(unscaled);
  });
});

import { expect } from "chai";

import type { PastRound } from "../../../src/client/index.js";
import { roundBlocks, roundListing } from "../../../tasks/output/rounds.js";
import type { ReportedRound } from "../../../tasks/output/rounds.js";
import { listingEnvelope, streamOf, textOf } from "../../helpers/listings.js";
import { linesOf } from "../../helpers/screens.js";

const ONE = 10n ** 18n;
const LATEST = 2_000;
const block = { ...listingEnvelope.block, number: LATEST };
const envelope = { ...listingEnvelope, block };
const context = {
  ...{ tokenDecimals: 1, chainTime: 1_700_000_000, raw: false, scaled: false },
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

const shown = (...rounds: readonly ReportedRound[]): readonly string[] =>
  linesOf(roundBlocks(rounds, LATEST, context));
const render = async (
  form: Parameters<typeof textOf>[1],
  ...rounds: readonly PastRound[]
): Promise<string> =>
  await textOf(roundListing(envelope, streamOf(rounds), context), form);

describe("output of vault rounds", () => {
  it("roundBlocks shows of a round its times, prices, volume and blocks, and of an open one what is not yet", () => {
    const [, ...lines] = shown(settled, open);
    expect(lines).to.deep.equal([
      "2020-09-13T12:26:40Z · 2020-09-13T13:26:40Z · 100 · 4.1 tokens · 8 · 1,000 · 1,500 · 1,999",
      "2020-09-13T12:26:40Z · 2020-09-13T13:26:40Z · 100 · 4.1 tokens · not yet · 2,000 · not yet · 2,000",
      ...["", "2 rounds; 1 settled."],
    ]);
  });

  it("roundBlocks shows the time of the block that settled a round, if it is given", () => {
    const [heading, row] = shown({ ...settled, settledTime: 1_600_007_200 });
    expect(heading).to.include(" · Settled block · Settled at · Last block");
    expect(row).to.include(" · 1,500 · 2020-09-13T14:26:40Z · 1,999");
  });

  const price =
    "'not seen' as settled price: no block shows it. If the round was settled, that block opened the next one.";
  const noBlock =
    "'not seen' as settled block: no block that could be read shows this round settled. The block that replaced it may have settled it.";
  const unseen = { settledPrice: null, settledAmount: null };
  for (const [title, changes, ends, footnotes] of [
    [
      "that was replaced unsettled",
      { ...unseen, settled: false, settledBlock: null },
      "not seen · 1,000 · not seen · 1,999",
      [price, noBlock],
    ],
    [
      "that was settled before the first block",
      { settledBlock: null },
      "8 · 1,000 · before · 1,999",
      [],
    ],
  ] as const) {
    it(`roundBlocks shows a round ${title}, with ${footnotes.length} footnotes`, () => {
      const [, row, , , ...rest] = shown({ ...settled, ...changes }, open);
      expect(row?.slice(row.indexOf("tokens") + 9)).to.equal(ends);
      const notes = rest.filter((line) => line.startsWith("'"));
      expect(notes).to.deep.equal(footnotes);
    });
  }

  const gap = (from: number, to: number): string =>
    `<warn>No round could be read from block ${from} to ${to}: the contract was not there, or had none.</>`;
  const late = { ...settled, lastBlock: 1_997 };
  for (const [title, rounds, notes] of [
    ["between two rounds", [late, open], [gap(1_998, 1_999)]],
    ["without a gap", [{ ...late, lastBlock: LATEST }], []],
  ] as const) {
    it(`roundBlocks notes ${notes.length} gap ${title}`, () => {
      const lines = shown(...rounds).slice(rounds.length + 3);
      expect(lines).to.deep.equal(notes);
    });
  }

  it("roundBlocks warns of a round out of order, before the gap after it", () => {
    const notes = shown(
      { ...settled, outOfOrder: true, lastBlock: 1_998 },
      open,
    ).slice(5);
    expect(notes.map((note) => note.split(":")[0])).to.deep.equal([
      "<warn>The round first seen in block 1000 breaks the order that the search relies on",
      "<warn>No round could be read from block 1999 to 1999",
    ]);
  });

  it("CSV of rounds has every value in its column, unscaled, and nothing for null", async () => {
    const odd: PastRound = { ...settled, outOfOrder: true };
    expect((await render("csv", odd, open)).split("\n")).to.deep.equal([
      "strikePrice,APY,maxVolume,filledVolume,minDeposit,startTime,endTime,settledPrice,settledAmount,settled,firstBlock,settledBlock,lastBlock,outOfOrder",
      "100000000000000000000,2,30,41,5,1600000000,1600003600,8000000000000000000,9,true,1000,1500,1999,true",
      "100000000000000000000,2,30,41,5,1600000000,1600003600,,,false,2000,,2000,false",
      "",
    ]);
  });

  it("JSON of rounds has the block, the rounds as they were found, and the notes; NDJSON the rounds alone", async () => {
    const line = (await render("ndjson", late)).trimEnd();
    expect(line)
      .to.include('"settledPrice":"8000000000000000000"')
      .and.include('"firstBlock":1000,"settledBlock":1500,"lastBlock":1997');
    expect(JSON.parse(await render("json", late))).to.deep.equal({
      ...{ ...envelope, rounds: [JSON.parse(line)] },
      notes: [gap(1_998, 2_000).replaceAll(/<.*?>/gu, "")],
    });
  });
});

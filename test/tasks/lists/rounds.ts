import { expect } from "chai";

import type { PastRound } from "../../../src/client/index.js";
import { roundListing } from "../../../tasks/lists.js";
import { fieldsOf, listOf } from "../../helpers/fields.js";
import { listingEnvelope, streamOf, write } from "../../helpers/listings.js";
import { NOBODY } from "../../helpers/names.js";
import { itFails, squeezed, useTasks } from "../../helpers/use-tasks.js";

describe("vault rounds", () => {
  /** The block of the first round. */
  let first = 0;
  const tasks = useTasks();
  beforeEach(async () => {
    first = (await tasks.mocks.vault.block()).number;
  });

  /** A first round, settled in block `first + 1`, and a second one in `first + 2`. */
  const settleAndGoOn = async (): Promise<void> => {
    await tasks.run("settle --yes");
    await tasks.mocks.startNextRound();
  };
  const blocksOf = async (typed: string) => {
    const { rounds } = await tasks.documentOf(typed);
    return listOf(rounds).map((round) => {
      const { firstBlock, settledBlock, lastBlock } = fieldsOf(round);
      return [firstBlock, settledBlock, lastBlock];
    });
  };

  it("rounds --from-block and --to-block read a part of the history", async () => {
    await settleAndGoOn();
    const part = `rounds --from-block ${first} --to-block ${first + 1}`;
    expect((await blocksOf(part)).at(-1)?.slice(1)).to.deep.equal([
      ...[first + 1, first + 1],
    ]);
  });

  it("rounds --block ends like --to-block, and does not know when a round was settled before --from-block", async () => {
    await settleAndGoOn();
    const settled = first + 1;
    expect(
      await blocksOf(`rounds --from-block ${settled} --block ${settled}`),
    ).to.deep.equal([[settled, null, settled]]);
  });

  for (const form of ["", "--format csv", "--format ndjson"]) {
    it(`rounds ${form} names blocks without a round, and exits with 0`, async () => {
      await tasks.rpc("evm_mine");
      await tasks.mocks.fail("getLatestRoundInfo", "closed");
      const { stdout, stderr, exitCode } = await tasks.run(`rounds ${form}`);
      expect(exitCode).to.equal(0);
      expect(stdout + stderr).to.include(
        `No round could be read from block ${first + 2} to ${first + 2}:`,
      );
    });
  }

  it("rounds --from reads for that sender", async () => {
    await tasks.mocks.fail("getLatestRoundInfo", "closed", { from: NOBODY });
    const { stdout } = await tasks.run(`rounds --from ${NOBODY}`);
    expect(stdout).to.include(`No round could be read from block ${first + 1}`);
  });

  it("rounds --raw shows integers, and rounds --format csv --scaled decimals", async () => {
    const raw = await tasks.run("rounds --raw");
    expect(raw.stdout).to.match(/^65000000000000000000000  /mu);
    const scaled = await tasks.run("rounds --format csv --scaled");
    expect(scaled.stdout).to.match(/^65000,/mu);
  });

  itFails(
    tasks,
    `
    rounds --from-block 3 --to-block 2 | VAULT_INVALID_ARGUMENT | 3 is above the
    rounds --to-block 0 | VAULT_NO_CODE | vault.contracts.vaultFactory
    `,
  );
});

const ONE = 10n ** 18n;
const LATEST = 2_000;
const block = { ...listingEnvelope.block, number: LATEST };
const envelope = { ...listingEnvelope, block };
const context = {
  ...{ tokenDecimals: 1, chainTime: 1_700_000_000, raw: false },
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

const render = async (
  form: Parameters<typeof write>[1],
  ...rounds: readonly PastRound[]
): Promise<string> =>
  (await write(roundListing(envelope, streamOf(rounds), context), form)).out;
/** The lines below the title. */
const shown = async (...rounds: readonly PastRound[]): Promise<string[]> =>
  squeezed(await render("table", ...rounds))
    .split("\n")
    .slice(1);

describe("output of vault rounds", () => {
  it("the table shows of a round its times, prices, volume and blocks, and of an open one what is not yet", async () => {
    const [heading = "", ...lines] = await shown(settled, open);
    expect(heading.length).to.be.below(120);
    expect(lines.slice(0, 4)).to.deep.equal([
      "100 · 4.1 tokens · 2020-09-13T12:26:40Z · 2020-09-13T13:26:40Z · 8 · 1,000 · 1,500",
      "100 · 4.1 tokens · 2020-09-13T12:26:40Z · 2020-09-13T13:26:40Z · not yet · 2,000 · not yet",
      ...["", "2 rounds."],
    ]);
  });

  for (const [title, changes, ends] of [
    [
      "that was replaced unsettled",
      { settledPrice: null, settled: false, settledBlock: null },
      "not seen · 1,000 · not seen",
    ],
    [
      "that was settled before the first block",
      { settledBlock: null },
      "8 · 1,000 · before",
    ],
  ] as const) {
    it(`the table shows a round ${title}`, async () => {
      const [, row = ""] = await shown({ ...settled, ...changes }, open);
      expect(row.endsWith(`Z · ${ends}`)).to.equal(true);
    });
  }

  const gap = (from: number, to: number): string =>
    `No round could be read from block ${from} to ${to}: the contract was not there, or had none.`;
  const late = { ...settled, lastBlock: 1_997 };
  for (const [title, rounds, gaps] of [
    ["between two rounds", [late, open], [gap(1_998, 1_999)]],
    ["without a gap", [{ ...late, lastBlock: LATEST }], []],
  ] as const) {
    it(`the listing notes ${gaps.length} gap ${title}`, async () => {
      const lines = await shown(...rounds);
      expect(lines.slice(rounds.length + 3, -2)).to.deep.equal(gaps);
    });
  }

  it("the listing warns of a round out of order, before the gap after it", async () => {
    const warnings = await shown(
      { ...settled, outOfOrder: true, lastBlock: 1_998 },
      open,
    );
    expect(
      warnings.slice(5, -2).map((note) => note.split(":")[0]),
    ).to.deep.equal([
      "The round first seen in block 1000 breaks the order that the search relies on",
      "No round could be read from block 1999 to 1999",
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
      notes: [gap(1_998, 2_000)],
    });
  });
});

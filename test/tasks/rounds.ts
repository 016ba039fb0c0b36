import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { squeezed, useTasks } from "../helpers/use-tasks.js";

const TOKEN = 10n ** 18n;
const FORMS = ["", "--format csv", "--format ndjson"];

/** Where a round is in the history, as it is printed with --format csv. */
interface Blocks {
  readonly firstBlock: unknown;
  readonly settledBlock: unknown;
  readonly lastBlock: unknown;
}

describe("vault rounds", () => {
  let first = 0;

  const tasks = useTasks({
    overrides: { round: { strikePrice: 100n * TOKEN } },
  });
  beforeEach(async () => {
    first = (await tasks.mocks.vault.block()).number;
  });

  /** Two rounds: one settled in block `first + 1`, and from `first + 2` on a second one. */
  const settleAndGoOn = async (): Promise<void> => {
    await tasks.run("settle --yes");
    await tasks.mocks.startNextRound({ strikePrice: 200n * TOKEN });
  };
  const blocksOf = async (typed: string): Promise<readonly Blocks[]> => {
    const { rounds } = await tasks.documentOf(typed);
    expect(rounds).to.be.an("array");
    return (Array.isArray(rounds) ? rounds : []).map((round: unknown) => {
      const { firstBlock, settledBlock, lastBlock } = fieldsOf(round);
      return { firstBlock, settledBlock, lastBlock };
    });
  };

  it("rounds shows of each round its terms, the block that settled it, and whether that is known", async () => {
    await settleAndGoOn();
    const { stdout } = await tasks.run("rounds");
    const [, heading, one, two, , count] = squeezed(stdout).split("\n");
    expect(heading).to.equal(
      "Start · End · Strike price · Filled volume · Settled price · First block · Settled block · Last block",
    );
    expect(one).to.match(
      new RegExp(
        `^\\S+Z · \\S+Z · 100 · 420 tokens · 66,250 · \\d+ · ${first + 1} · ${first + 1}$`,
        "u",
      ),
    );
    expect(two).to.match(
      new RegExp(
        `^\\S+Z · \\S+Z · 200 · 0 tokens · not yet · ${first + 2} · not yet · ${first + 2}$`,
        "u",
      ),
    );
    expect(count).to.equal("2 rounds; 1 settled.");
  });

  it("rounds names, in each form, a round that was replaced unsettled, one that starts before it, and blocks without a round", async () => {
    await tasks.mocks.startNextRound({ startTime: 5n });
    await tasks.mocks.fail("getLatestRoundInfo", "closed");
    for (const form of FORMS) {
      const { stdout, stderr, exitCode } = await tasks.run(`rounds ${form}`);
      expect(exitCode).to.equal(0);
      expect(stdout + stderr, form)
        .to.include(
          `No round could be read from block ${first + 2} to ${first + 2}: the contract was not there, or had none.`,
        )
        .and.include(
          `The round first seen in block ${first + 1} breaks the order that the search relies on`,
        );
    }
    const { stdout } = await tasks.run("rounds");
    expect(squeezed(stdout).split("\n")[2]).to.match(
      / · not seen · \d+ · not seen · \d+$/u,
    );
  });

  it("rounds --from-block, --to-block and --block read a part of the history, and one block", async () => {
    await settleAndGoOn();
    const [settled, lastBlock] = [first + 1, first + 1];
    const part = `rounds --from-block ${first} --to-block ${settled}`;
    expect((await blocksOf(part)).at(-1)).to.deep.include({
      settledBlock: settled,
      lastBlock,
    });
    const one = `rounds --from-block ${settled} --block ${settled}`;
    expect(await blocksOf(one)).to.deep.equal([
      { firstBlock: settled, settledBlock: null, lastBlock },
    ]);
    const { stdout } = await tasks.run(one);
    expect(stdout).to.match(/ before +\d+$/mu);
  });

  it("rounds reads for the sender that --from names, and shows integers with --raw", async () => {
    const from = "0x00000000000000000000000000000000000000AA";
    await tasks.mocks.fail("getLatestRoundInfo", "closed", { from });
    const { stdout } = await tasks.run("rounds --raw");
    expect(squeezed(stdout).split("\n")[2]).to.match(
      /^\d{10} · \d{10} · 100000000000000000000 · 420000000000000000000 · not yet · /u,
    );
    expect(stdout).to.not.include("No round could be read");
    const missed = await tasks.run(`rounds --from ${from}`);
    expect(missed.stdout).to.include(
      `No round could be read from block ${first + 1} to ${first + 1}`,
    );
  });

  for (const [typed, code, says] of [
    ["--from-block 3 --to-block 2", "VAULT_INVALID_ARGUMENT", "3 is above the"],
    ["--block 2 --to-block 2", "VAULT_INVALID_ARGUMENT", "exclude each other"],
    ["--block 100000", "VAULT_BLOCK_NOT_FOUND", "has no block 100000"],
    ["--to-block 0", "VAULT_NO_CODE", "networks.live.vault.contracts.vaultFac"],
  ] as const) {
    it(`rounds ${typed} fails with ${code}`, async () => {
      const error = await tasks.errorOf(`rounds ${typed}`);
      expect(error).to.include({ code });
      expect(error["message"]).to.include(says);
    });
  }

  it("rounds, watch and settle --if-expired take a round of zeros for none", async () => {
    const { vaultFactory } = tasks.mocks.addresses;
    await tasks.rpc("anvil_setCode", vaultFactory, "0x6101405ff3");
    const { stdout } = await tasks.run(`rounds --from-block ${first}`);
    expect(stdout).to.include("0 rounds; 0 settled.");
    const { settlement } = await tasks.documentOf("settle --if-expired --yes");
    expect(settlement).to.include({
      status: "nothing-to-do",
      reason: "There is no round yet: its end is 0.",
      hash: null,
    });
  });
});

import { expect } from "chai";

import { fieldsOf, listOf } from "../helpers/fields.js";
import { NOBODY } from "../helpers/names.js";
import { itFails, useTasks } from "../helpers/use-tasks.js";

// What a listing shows: output/rounds.ts.
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
    expect(raw.stdout).to.include("  65000000000000000000000  ");
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

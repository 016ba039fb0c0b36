import { rm } from "node:fs/promises";

import { expect } from "chai";
import { id, toQuantity } from "ethers";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { Settlement } from "../../src/settlement/settle-all.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { deployOddVault } from "../helpers/odd-vault.js";
import type { OddVault } from "../helpers/odd-vault.js";
import { openLane } from "../helpers/settlement-lane.js";
import type { SettlementLane } from "../helpers/settlement-lane.js";

const POLLING = { pollingInterval: 20 };

describe("a vault that settles in its own way", () => {
  let node: ServerProcess;
  let project: FixtureProject;
  let lane: SettlementLane;
  let odd: OddVault;
  let vault: HardhatVault;
  let journal: string;

  before(async () => {
    node = await startAnvil();
    project = await useFixtureProject("plain");
    lane = await openLane({ node: node.url, projectRoot: project.path });
  });
  beforeEach(async () => {
    lane.server.reset();
    odd = await deployOddVault(node.url);
    vault = lane.vault.at({ vault: odd.address, vaultFactory: odd.address });
    journal = lane.journal.replace(
      lane.world.contracts.vault.toLowerCase(),
      odd.address.toLowerCase(),
    );
    await rm(journal, { force: true });
  });
  afterEach(() => {
    odd.close();
  });
  after(async () => {
    await lane.close();
    await node.stop();
    await project.remove();
  });

  const send = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> => {
    const result: unknown = await lane.world.provider.send(method, [...params]);
    return result;
  };

  it("should be settled where it opens the next round in the same transaction", async () => {
    await odd.set("opensNext");

    const settlement = await vault.settleAll(POLLING);

    expect(settlement, settlement.reason ?? "").to.include({
      status: "settled",
      reason: null,
    });
    expect(settlement.after?.startTime).to.equal(settlement.before?.endTime);
    expect(settlement.after?.settled).to.equal(false);
    expect(
      await vault.settleAll({ ...POLLING, resume: true }),
      "after --resume too",
    ).to.deep.equal({ ...settlement, preview: null });
  });

  /** Settles in a block with another transaction, which is dearer or not. */
  const settleBeside = async (
    other: { readonly to: string; readonly data: string },
    gasPrice: bigint,
  ): Promise<Settlement> => {
    const stranger = await lane.world.provider.getSigner(3);
    await send("evm_setAutomine", false);
    lane.server.before(
      { method: "eth_sendRawTransaction", occurrence: 0 },
      async () => {
        await send("eth_sendTransaction", {
          from: stranger.address,
          gasPrice: toQuantity(gasPrice),
          ...other,
        });
      },
    );
    lane.server.before(
      { method: "eth_getTransactionReceipt", occurrence: 0 },
      async () => {
        await lane.world.mine();
      },
    );
    const settlement = await vault.settleAll(POLLING);
    await send("evm_setAutomine", true);
    const block = await lane.world.provider.getBlock(
      settlement.blockNumber ?? 0,
    );
    expect(block?.transactions).to.have.length(2);
    return settlement;
  };
  const first = 10n ** 12n;
  const last = 2n * 10n ** 9n;

  for (const [place, gasPrice] of [
    ["before", first],
    ["after", last],
  ] as const) {
    it(`should be settled all the same where others pay each other ${place} it`, async () => {
      await odd.set("opensNext");

      const settlement = await settleBeside(
        { to: `0x${"12".repeat(20)}`, data: "0x" },
        gasPrice,
      );

      expect(settlement, settlement.reason ?? "").to.include({
        status: "settled",
      });
    });

    it(`should not be settled where the next round was opened ${place} it by another one`, async () => {
      await odd.set("settles");

      const settlement = await settleBeside(
        { to: odd.address, data: id("openNextRound()").slice(0, 10) },
        gasPrice,
      );

      expect(settlement).to.include({ status: "unconfirmed" });
      expect(settlement.reason).to.match(/^MISMATCH/u);
    });
  }

  it("should not be settled where the block before had another round", async () => {
    await odd.set("opensNext");
    lane.server.before(
      { method: "eth_sendRawTransaction", occurrence: 0 },
      async () => {
        await odd.openNextRound();
      },
    );

    const settlement = await vault.settleAll(POLLING);

    expect(settlement).to.include({ status: "unconfirmed" });
    expect(settlement.reason).to.match(/^MISMATCH/u);
  });
});

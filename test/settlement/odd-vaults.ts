import { rm } from "node:fs/promises";

import { expect } from "chai";
import { id, toQuantity } from "ethers";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { SettlementPreflight } from "../../src/settlement/types.js";
import { STATE_OVERRIDES } from "../helpers/faulty-rpc-server.js";
import { deployOddVault } from "../helpers/odd-vault.js";
import type { OddVault } from "../helpers/odd-vault.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";

const POLLING = { pollingInterval: 20 };

describe("a vault that settles in its own way", () => {
  let lane: LaneWithNode;
  let odd: OddVault;
  let vault: HardhatVault;
  let journal: string;

  before(async () => {
    lane = await openLaneWithNode();
  });
  beforeEach(async () => {
    lane.server.reset();
    odd = await deployOddVault(lane.world.provider);
    vault = lane.vault.at({ vault: odd.address, vaultFactory: odd.address });
    journal = lane.journal.replace(
      lane.world.contracts.vault.toLowerCase(),
      odd.address.toLowerCase(),
    );
    await rm(journal, { force: true });
  });
  after(async () => {
    await lane.close();
  });

  const send = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> => {
    const result: unknown = await lane.world.provider.send(method, [...params]);
    return result;
  };

  const OPENED = /^The vault is in its next round already in block \d+/u;

  it("settle says settled, and what cannot be known, if the vault opens its next round in the same transaction", async () => {
    await odd.set("opensNext");

    const settlement = await vault.settleAll(POLLING);

    expect(settlement).to.include({ status: "settled" });
    expect(settlement.reason).to.match(OPENED);
    expect(settlement.after?.startTime).to.equal(settlement.before?.endTime);
    expect(settlement.after?.settled).to.equal(false);
    const resumed = await vault.settleAll({ ...POLLING, resume: true });
    expect(resumed).to.include({
      status: "nothing-to-do",
      hash: settlement.hash,
      blockNumber: settlement.blockNumber,
    });
    expect(resumed.reason).to.include("The current round is the round from");
  });

  it("settle says the same if a stranger opens the next round in the same block, right after it", async () => {
    await odd.set("settles");
    const stranger = await lane.world.provider.getSigner(3);
    await send("evm_setAutomine", false);
    lane.server.before(
      { method: "eth_sendRawTransaction", occurrence: 0 },
      async () => {
        const { baseFeePerGas } =
          (await lane.world.provider.getBlock("pending")) ?? {};
        await send("eth_sendTransaction", {
          from: stranger.address,
          to: odd.address,
          data: id("openNextRound()").slice(0, 10),
          // Of an open round it needs less than of a settled one.
          gas: "0x100000",
          // Less than a settlement pays, so that it comes later.
          gasPrice: toQuantity((baseFeePerGas ?? 0n) + 1n),
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
    expect(settlement).to.include({ status: "settled" });
    expect(settlement.reason).to.match(OPENED);
  });

  it("should show all that it will do, and say that it came so", async () => {
    await odd.set("settles", 3);
    let shown: SettlementPreflight | undefined;

    const settlement = await vault.settleAll({
      ...POLLING,
      confirm: async (preflight) => {
        shown = preflight;
        return await Promise.resolve(true);
      },
    });

    const { differences, ...previewed } = settlement.preview ?? {};
    expect(differences).to.deep.equal([]);
    expect(shown?.preview).to.deep.equal(previewed);
    expect(shown?.preview).to.include({
      status: "settled",
      engine: "simulateV1",
      gasUsed: settlement.gasUsed,
    });
    expect(
      shown?.preview?.changes.map(
        ({ reading, field, before, after }) =>
          `${reading} ${field} ${before} ${after}`,
      ),
    ).to.deep.equal([
      "round settledPrice 0 2000000000000000000000",
      "round settledAmount 0 77",
      "round settled false true",
      "volume volume 0 1",
    ]);
  });

  for (const mode of ["doesNothing", "inBatches"] as const) {
    it(`settle says before it asks, and afterwards by not-settled, that the round is not settled by a vault that ${mode}`, async () => {
      await odd.set(mode);
      let shown: SettlementPreflight | undefined;

      const settlement = await vault.settleAll({
        ...POLLING,
        confirm: async (preflight) => {
          shown = preflight;
          return await Promise.resolve(true);
        },
      });

      expect(shown).to.include({ outcome: "succeeds", reason: null });
      expect(shown?.preview).to.include({ status: "not-settled" });
      expect(settlement).to.include({ status: "not-settled" });
      expect(settlement.reason).to.include("is not settled in that block");
      expect(settlement.preview?.differences).to.deep.equal([]);
      // That is final: the next settlement is not held up by it.
      expect(await vault.settleAll(POLLING)).to.include({
        status: "not-settled",
      });
    });
  }

  for (const hasEngine of [true, false]) {
    const how = hasEngine ? "a simulation" : "an estimate";
    it(`should have gas to spare by ${how}, for orders that come meanwhile`, async () => {
      if (!hasEngine) {
        lane.server.hide("eth_simulateV1", STATE_OVERRIDES);
        vault = (await lane.connect({})).at({
          vault: odd.address,
          vaultFactory: odd.address,
        });
      }
      await odd.set("settles", 20);
      // Of a simulation, nodes do not tell what it used before refunds, and the
      // most that those may be is added too.
      const orders = hasEngine ? 28 : 22;

      const settlement = await vault.settleAll({
        ...POLLING,
        confirm: async ({ preview }) => {
          expect(preview === null).to.equal(!hasEngine);
          await odd.set("settles", orders);
          return true;
        },
      });

      lane.server.show();
      expect(settlement, settlement.reason ?? "").to.include({
        status: "settled",
      });
      expect(await odd.paid(30)).to.equal(orders);
    });
  }

  it("should give a contract enough that goes on when its own calls run out", async () => {
    await odd.set("swallows", 20);
    const least = await lane.world.provider.estimateGas({
      from: lane.settler,
      to: odd.address,
      data: "0xa015aefe",
    });

    const settlement = await vault.settleAll(POLLING);

    expect(settlement).to.include({ status: "settled" });
    expect(settlement.preview?.differences).to.deep.equal([]);
    // The node's estimate is what "succeeds", and pays nobody.
    expect(least < (settlement.gasUsed ?? 0n)).to.equal(true);
    expect(await odd.paid(20)).to.equal(20);
  });

  it("should name a want of gas, once it is mined", async () => {
    await odd.set("settles", 20);

    const settlement = await vault.settleAll({
      ...POLLING,
      confirm: async () => {
        await odd.set("settles", 60);
        return true;
      },
    });

    expect(settlement).to.include({
      status: "reverted",
      code: "VAULT_OUT_OF_GAS",
    });
    expect(settlement.reason)
      .to.match(/^out of gas: it uses all of the \d+ that it was given/u)
      .and.include("gasMultiplier");
  });
});

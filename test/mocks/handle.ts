import { expect } from "chai";

import type {
  HardhatVault,
  MockVaultHandle,
  Settlement,
} from "../../src/types.js";
import { expectRevert } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";

const SCRIPTED = { settledPrice: 102n, settledAmount: 103n };

describe("rounds of the mocks", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    ({ vault } = await connectTo(undefined));
  });
  after(async () => {
    await vault.connection.close();
  });

  const settled = async (): Promise<readonly unknown[]> => {
    const { after }: Settlement = await vault.settleAll();
    return [after?.settledPrice, after?.settledAmount];
  };

  describe("settleAll()", () => {
    it("writes the scenario's settlement to the first round, and the strike price to the next, with as many orders if anything is filled", async () => {
      mocks = await vault.deployMocks({ scenario: "expired-round" });
      expect(await settled()).to.deep.equal([66_250n * 10n ** 18n, 3n]);
      await mocks.startNextRound({ strikePrice: 77n, filledVolume: 5n });
      expect(await settled()).to.deep.equal([77n, 3n]);
      await mocks.startNextRound({ strikePrice: 78n });
      expect(await settled()).to.deep.equal([78n, 0n]);
    });

    for (const [how, overrides, changes, amount] of [
      ["set()", {}, { settlement: SCRIPTED }, 103n],
      ["overrides", { settlement: { settledPrice: 102n } }, {}, 3n],
    ] as const) {
      it(`writes the settlement of ${how} to every later round`, async () => {
        const scenario = "expired-round";
        mocks = await vault.deployMocks({ scenario, overrides });
        await mocks.set(changes);
        for (const strikePrice of [78n, 79n]) {
          await mocks.startNextRound({ strikePrice });
          expect(await settled()).to.deep.equal([102n, amount]);
        }
      });
    }

    it("keeps a price that is set before if it needs one, and refuses a round without one or below its strike price", async () => {
      const overrides = { settlement: { needsPrice: true } };
      mocks = await vault.deployMocks({ scenario: "expired-round", overrides });
      const strikePrice = 65_000n * 10n ** 18n;
      for (const [settledPrice, reason] of [
        [0n, "PriceNotSet()"],
        [strikePrice - 1n, "PriceBelowStrike(settledPrice: "],
      ] as const) {
        await mocks.set({ round: { settledPrice } });
        const { status, reason: found } = await vault.settleAll();
        expect(status).to.equal("reverted");
        expect(found?.slice(0, reason.length)).to.equal(reason);
      }
      await mocks.set({ round: { settledPrice: strikePrice } });
      expect(await settled()).to.deep.equal([strikePrice, 3n]);
    });

    it("of as-deployed settles the rest of a round, at the price that is set, and pays its caller", async () => {
      mocks = await vault.deployMocks({ scenario: "as-deployed" });
      const [, caller] = await vault.connection.ethers.getSigners();
      const { token } = await mocks.contracts.vault.reward();
      const simulated = await vault.simulateSettleAll({ from: caller });
      expect(simulated.transfers).to.deep.equal([
        {
          ...{ token, amount: 68n * 10n ** 18n },
          ...{ from: mocks.addresses.vault, to: caller?.address },
        },
      ]);
      const { before, after, differences } = await vault.settleAll({
        from: caller,
      });
      expect(before).to.include({ settledAmount: 1n, settled: false });
      expect(after).to.include({
        ...{ settledPrice: before?.settledPrice, settledAmount: 3n },
        settled: true,
      });
      expect(differences).to.deep.equal([]);
    });

    it("is recorded by settlements(), with its caller, only if it succeeds", async () => {
      const [first, second] = await vault.connection.ethers.getSigners();
      mocks = await vault.deployMocks();
      await vault.settleAll({ from: second });
      await mocks.fail("settleAll", "not yet");
      await mocks.startNextRound();
      expect(await vault.settleAll()).to.include({ reason: "not yet" });
      await mocks.succeed("settleAll");
      await vault.settleAll({ from: first });
      const all = await mocks.settlements();
      expect(all.map(({ caller }) => caller)).to.deep.equal([
        second?.address,
        first?.address,
      ]);
      const { number, timestamp } = await vault.block();
      expect(all[1]).to.include({
        ...{ blockNumber: number, timestamp: BigInt(timestamp) },
      });
    });
  });

  it("set() adds an order where there is none, with the values of order 1 that it does not name, and changes one that is there", async () => {
    const order = await (await vault.deployMocks()).vault.getOrderInfo(1);
    for (const unknownOrders of ["zeros", "revert"] as const) {
      mocks = await vault.deployMocks({ overrides: { unknownOrders } });
      await mocks.set({ orders: { 2: { exFee: 5n }, 9: { exFee: 7n } } });
      const added = { ...order, exFee: 7n };
      expect(await vault.getOrderInfo(9)).to.deep.equal(added);
      expect(await vault.getOrderInfo(2)).to.include({
        ...{ exType: "ETH-USDT", exFee: 5n },
      });
    }
  });

  it("contracts call as the first account, or as the sender that is named", async () => {
    const [first, second] = await vault.connection.ethers.getSigners();
    mocks = await vault.deployMocks();
    const { queryVolume } = mocks.contracts.vault;
    await mocks.fail("queryVolume", "first", { from: first });
    await expectRevert(queryVolume(), "first");
    await queryVolume({ from: second?.address ?? "" });
  });

  describe("startNextRound()", () => {
    const overrides = {
      round: {
        APY: 5n,
        startTime: 10n,
        endTime: 30n,
        settled: true,
        settledPrice: 9n,
      },
    };
    beforeEach(async () => {
      mocks = await vault.deployMocks({ overrides });
    });

    it("keeps the terms and the length of the latest round, which is unsettled and empty", async () => {
      const untyped: object = { startTime: 50n, endTime: undefined };
      await mocks.startNextRound(untyped);
      expect(await vault.getLatestRoundInfo()).to.include({
        ...{ APY: 5n, startTime: 50n, endTime: 70n, filledVolume: 0n },
        ...{ settled: false, settledPrice: 0n, settledAmount: 0n },
      });
    });

    it("has both times as given, or the length of the latest round", async () => {
      for (const [terms, startTime, endTime] of [
        [{ startTime: 70n, endTime: 69n }, 70n, 69n],
        [{ startTime: 0n }, 0n, 20n],
      ] as const) {
        await mocks.set({ round: { startTime: 10n, endTime: 30n } });
        await mocks.startNextRound(terms);
        expect(await vault.getLatestRoundInfo()).to.include({
          ...{ startTime, endTime },
        });
      }
    });
  });
});

import { expect } from "chai";
import { id } from "ethers";

import {
  generatedOrder,
  inProcessMockAddresses,
  scenarios,
} from "../../src/mocks/index.js";
import type { HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import { keysOf } from "../helpers/keys-of.js";

const ALREADY_SETTLED = new RegExp(
  `^${id("RoundAlreadySettled(uint256,uint256,uint256)").slice(0, 10)}`,
  "u",
);

describe("mocks - scenarios", () => {
  let vault: HardhatVault;
  let now = 1_900_000_000n;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
  });

  for (const scenario of keysOf(scenarios)) {
    it(`deployMocks() returns the values of ${scenario}, whose round is settled once`, async () => {
      now += 1_000n;
      await vault.provider.request({
        method: "evm_setNextBlockTimestamp",
        params: [Number(now)],
      });
      const mocks = await vault.deployMocks({ scenario });
      const state = scenarios[scenario](now);
      const { round, fundingFeeRate, pools, volume, marginBalance } = state;
      expect(mocks).to.deep.include({
        scenario,
        addresses: inProcessMockAddresses,
      });
      expect(await mocks.vault.snapshot()).to.deep.include({
        ...{ fundingFeeRate, pools, round, volume, marginBalance },
        minXMargin: state.minXMargin,
      });
      expect(
        await vault.calMargins({ maxVolume: 1n, APY: 2n, endTime: 3n }),
      ).to.deep.equal(state.margins);
      for (const [orderID, order] of state.orders) {
        expect(await vault.getOrderInfo(orderID)).to.deep.equal(order);
      }

      const [signer] = await vault.connection.ethers.getSigners();
      expect(round.settled).to.equal(scenario === "settled-round");
      const young = scenarios[scenario](1n).round;
      expect(young.startTime >= 0n && young.endTime >= 0n).to.equal(true);
      if (!round.settled) {
        await mocks.vault.settleAll();
        const { number, timestamp } = await vault.block();
        expect(await mocks.settlements()).to.deep.equal([
          {
            caller: signer?.address,
            timestamp: BigInt(timestamp),
            blockNumber: BigInt(number),
          },
        ]);
      }
      expect(await vault.getLatestRoundInfo()).to.deep.equal({
        ...round,
        ...state.settlement,
        settled: true,
      });
      const second: unknown = await mocks.contracts.vault.settleAll
        .staticCall()
        .catch((thrown: unknown) => thrown);
      expect(Reflect.get(Object(second), "data")).to.match(ALREADY_SETTLED);
      const { status } = await vault.settleAll();
      expect(status).to.equal("nothing-to-do");
    });
  }

  it("generateOrders() makes the mock compute the orders that generatedOrder() returns", async () => {
    const mocks = await vault.deployMocks({ scenario: "many-orders" });
    for (const orderID of [0n, 1_001n]) {
      expect((await vault.getOrderInfo(orderID)).state).to.equal(0);
    }
    for (const orderID of [1n, 1_000n]) {
      expect(await vault.getOrderInfo(orderID)).to.deep.equal(
        generatedOrder(orderID),
      );
    }
    const lastId = 2n ** 256n - 1n;
    await mocks.generateOrders(0n, lastId);
    const ids = [
      ...Array.from({ length: 50 }, (_, index) => BigInt(index)),
      ...[996n, 997n, 999_999n, 1_000_000n, 1_000_001n, 123_456_789n],
      2n ** 255n + 12_345n,
      lastId,
    ];
    for (const orderID of ids) {
      expect(
        await vault.getOrderInfo(orderID),
        `order ${orderID}`,
      ).to.deep.equal(generatedOrder(orderID));
    }
  });

  it("deployMocks() refuses an unknown scenario with VAULT_INVALID_ENUM", async () => {
    await expectVaultError(
      // @ts-expect-error -- no such name
      vault.deployMocks({ scenario: "open" }),
      "VAULT_INVALID_ENUM",
    );
  });
});

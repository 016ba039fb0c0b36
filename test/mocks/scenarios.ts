import { expect } from "chai";
import { getAddress } from "ethers";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import {
  generatedOrder,
  inProcessMockAddresses,
} from "../../src/mocks/index.js";
import { readClock } from "../../src/mocks/mock-contracts.js";
import { scenarios } from "../../src/mocks/scenarios.js";
import type { MockOrder, MockState } from "../../src/mocks/types.js";
import { keysOf } from "../../src/protocol/keys-of.js";
import { expectVaultError } from "../helpers/assertions.js";
import { everyNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { connectTo, createTestHre } from "../helpers/hre.js";

const scenarioNames = keysOf(scenarios);

/** What a client reads of an order that a mock was given. */
function asRead(order: MockOrder): object {
  return {
    ...order,
    exType:
      typeof order.exType === "string"
        ? order.exType
        : new TextDecoder().decode(order.exType),
    holder: getAddress(order.holder),
  };
}

async function expectState(
  vault: HardhatVault,
  state: MockState,
): Promise<void> {
  const { fundingFeeRate, pools, round, volume, marginBalance, minXMargin } =
    await vault.snapshot();
  expect({
    fundingFeeRate,
    pools,
    round,
    volume,
    marginBalance,
    minXMargin,
  }).to.deep.equal({
    fundingFeeRate: state.fundingFeeRate,
    pools: state.pools,
    round: state.round,
    volume: state.volume,
    marginBalance: state.marginBalance,
    minXMargin: state.minXMargin,
  });
  expect(
    await vault.calMargins({ maxVolume: 1n, APY: 2n, endTime: 3n }),
  ).to.deep.equal(state.margins);
  for (const [orderID, order] of state.orders) {
    if (order !== null) {
      expect(await vault.getOrderInfo(orderID)).to.deep.equal(asRead(order));
    }
  }
}

for (const { name, start } of everyNode) {
  describe(`mocks - scenarios on ${name}`, () => {
    let node: TestNode;
    let vault: HardhatVault;

    before(async () => {
      node = await start();
      ({ vault } = await connectTo(node.url));
    });

    after(async () => {
      await node.stop();
    });

    for (const scenario of scenarioNames) {
      it(`should answer what ${scenario} says`, async () => {
        let now = await readClock(vault);
        const mocks = await vault.deployMocks({ scenario });
        expect(mocks.scenario).to.equal(scenario);
        // The clock went on between the two.
        const end = await readClock(vault);
        const { endTime } = await vault.getLatestRoundInfo();
        while (
          now < end &&
          scenarios[scenario](now).round.endTime !== endTime
        ) {
          now += 1n;
        }
        const state = scenarios[scenario](now);
        await expectState(vault, state);
        await expectState(mocks.vault, state);
      });

      it(`should settle ${scenario} once`, async () => {
        const mocks = await vault.deployMocks({ scenario });
        const before = await vault.getLatestRoundInfo();
        const [signer] = await vault.connection.ethers.getSigners();
        // anvil answers with the hash before the block is there.
        const settle = async (): Promise<unknown> =>
          await (
            await signer?.sendTransaction({
              to: mocks.addresses.vault,
              data: "0xa015aefe",
            })
          )?.wait();
        if (scenario === "settled-round") {
          expect(before.settled).to.equal(true);
        } else {
          expect(before.settled).to.equal(false);
          await settle();
          const { settledPrice, settledAmount } =
            scenarios[scenario](0n).settlement;
          expect(settledPrice > 0n && settledAmount > 0n).to.equal(true);
          expect(await vault.getLatestRoundInfo()).to.deep.equal({
            ...before,
            settledPrice,
            settledAmount,
            settled: true,
          });
          const [settlement, ...others] = await mocks.settlements();
          expect(others).to.deep.equal([]);
          const block = await vault.block();
          expect(settlement).to.deep.equal({
            caller: signer?.address,
            timestamp: BigInt(block.timestamp),
            blockNumber: BigInt(block.number),
          });
        }
        const second: unknown = await settle().catch((error: unknown) => error);
        expect(second).to.be.instanceOf(Error);
        const { status } = await vault.settleAll();
        expect(status).to.equal("nothing-to-do");
      });
    }
  });
}

describe("mocks - scenarios", () => {
  it("scenarios have times from 0 on, whatever the clock", () => {
    for (const scenario of scenarioNames) {
      const { startTime, endTime } = scenarios[scenario](1n).round;
      expect(startTime >= 0n && endTime >= 0n, scenario).to.equal(true);
    }
  });

  it("should compute orders as the contract does", async () => {
    const hre = await createTestHre();
    const { vault } = await hre.network.create();
    const mocks = await vault.deployMocks({ scenario: "many-orders" });
    expect(mocks.addresses).to.deep.equal(inProcessMockAddresses);
    for (const id of [0n, 1_001n]) {
      expect((await vault.getOrderInfo(id)).state).to.equal(0);
    }
    for (const id of [1n, 1_000n]) {
      expect(await vault.getOrderInfo(id)).to.deep.equal(generatedOrder(id));
    }
    const lastId = 2n ** 256n - 1n;
    await mocks.generateOrders(0n, lastId);
    const ids = [
      ...Array.from({ length: 50 }, (_, index) => BigInt(index)),
      ...[996n, 997n, 999_999n, 1_000_000n, 1_000_001n, 123_456_789n],
      2n ** 255n + 12_345n,
      lastId,
    ];
    for (const id of ids) {
      expect(await vault.getOrderInfo(id), `order ${id}`).to.deep.equal(
        generatedOrder(id),
      );
    }
  });

  it("should refuse an unknown scenario", async () => {
    const hre = await createTestHre();
    await expectVaultError(
      // @ts-expect-error -- no such name
      hre.vault.deployMocks({ scenario: "open" }),
      "VAULT_INVALID_ENUM",
    );
  });
});

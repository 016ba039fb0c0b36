import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { network } from "hardhat";
import { tradingAbi, vaultAbi, vaultFactoryAbi } from "hardhat-vault/abi";
import {
  changesReadings,
  roundSettled,
  settlesRound,
} from "hardhat-vault/assert";
import { deployMocks, encodeRevertData } from "hardhat-vault/mocks";
import { getMockContracts } from "hardhat-vault/viem";
import { getContract } from "viem";

const ONE = 10n ** 18n;

describe("Vault", async function () {
  const { networkHelpers, vault, viem } = await network.create();
  const publicClient = await viem.getPublicClient();
  const [walletClient] = await viem.getWalletClients();

  async function openRound() {
    return await vault.deployMocks();
  }

  it("Should infer viem's types from the ABIs", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    const trading = getContract({
      abi: tradingAbi,
      address: mocks.addresses.trading,
      client: publicClient,
    });
    const [pair, holder, number] = await trading.read.getOrderInfo([1n]);
    const typed: [string, `0x${string}`, bigint] = [pair, holder, number];
    const order = await vault.getOrderInfo(1n);
    assert.deepEqual(typed, [order.exType, order.holder, order.number]);
    // @ts-expect-error -- an order id is a bigint
    const wrong = () => trading.read.getOrderInfo(["1"]);
    assert.equal(typeof wrong, "function");
  });

  it("Should make viem's contract objects of all six mocks", async function () {
    const { addresses } = await networkHelpers.loadFixture(openRound);
    const contracts = getMockContracts({
      addresses,
      client: { public: publicClient, wallet: walletClient },
    });
    assert.deepEqual(
      Object.entries(contracts).map(([role, { address }]) => [role, address]),
      Object.entries(addresses),
    );
    await contracts.underlyingAsset.write.setFundingFeeRate([1, 3n]);
    await contracts.publicPool.write.setLPAmountInfo([1n, 2n, 3n]);
    await contracts.trading.write.removeOrder([2n]);
    await contracts.vaultFactory.write.setMinSLDMargin([4n]);
    await contracts.vault.write.settleAll();

    const rate: bigint = await contracts.underlyingAsset.read.getFundingFeeRate(
      [1],
    );
    const pools: Array<readonly [bigint, bigint, bigint]> = [
      await contracts.publicPool.read.getLPAmountInfo(),
      await contracts.privatePool.read.getLPAmountInfo(),
    ];
    const [pair]: readonly [string, ...unknown[]] =
      await contracts.trading.read.getOrderInfo([1n]);
    const margin: bigint = await contracts.vaultFactory.read.minSLDMargin();
    const { settled }: { settled: boolean } =
      await contracts.vaultFactory.read.latestRound();
    const { caller }: { caller: `0x${string}` } =
      await contracts.vault.read.settlement([0n]);
    assert.deepEqual(
      { rate, public: pools[0], pair, margin, settled },
      {
        rate: 3n,
        public: [1n, 2n, 3n],
        pair: "BTC-USDT",
        margin: 4n,
        settled: true,
      },
    );
    assert.deepEqual(
      pools[1],
      Object.values(await vault.getLPAmountInfo("private")),
    );
    assert.equal(caller.toLowerCase(), walletClient.account.address);
    assert.equal((await vault.getOrderInfo(2n)).state, 0);

    const readers = getMockContracts({ addresses, client: publicClient });
    assert.equal(await readers.vault.read.settlementCount(), 1n);
    const mistakes = () => [
      // @ts-expect-error -- without a wallet there is nothing that could write
      readers.vault.write.setVolume([5n]),
      // @ts-expect-error -- a volume is a bigint
      contracts.vault.write.setVolume(["5"]),
      // @ts-expect-error -- the vault has no orders
      contracts.vault.read.getOrderInfo([1n]),
    ];
    assert.equal(typeof mistakes, "function");
  });

  it("Should settle with a wallet client", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    await mocks.setSettlement({ settledPrice: 5n, settledAmount: 6n });
    const hash = await walletClient.writeContract({
      abi: vaultAbi,
      address: mocks.addresses.vault,
      functionName: "settleAll",
    });
    await settlesRound(vault, hash, { price: 5n, amount: 6n });
    await changesReadings(vault, hash, {
      round: { settled: true, settledPrice: { from: 0n, to: 5n } },
    });
    await roundSettled(vault, { price: 5n });

    const round = await publicClient.readContract({
      abi: vaultFactoryAbi,
      address: mocks.addresses.vaultFactory,
      functionName: "getLatestRoundInfo",
    });
    const settledPrice: bigint = round[7];
    assert.equal(settledPrice, 5n);
    const [settlement] = await mocks.settlements();
    assert.equal(settlement.caller.toLowerCase(), walletClient.account.address);
  });

  it("Should say what was expected and what there was", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    const [signer] = await viem.getWalletClients();
    const hash = await signer.writeContract({
      abi: vaultAbi,
      address: mocks.addresses.vault,
      functionName: "settleAll",
    });
    for (const [check, actual, expected] of [
      [() => settlesRound(vault, hash, { price: 1n }), 66_250n * ONE, 1n],
      [() => roundSettled(vault, { amount: 2n }), 420n * ONE, 2n],
    ] as const) {
      await assert.rejects(check, {
        name: "AssertionError",
        actual,
        expected,
      });
    }
    await mocks.startNextRound();
    await assert.rejects(() => roundSettled(vault), assert.AssertionError);
    await assert.rejects(
      () => changesReadings(vault, hash, { volume: { by: 1n } }),
      assert.AssertionError,
    );
  });

  it("Should deploy mocks over viem's own client, and read orders", async function () {
    const testClient = await viem.getTestClient();
    const mocks = await deployMocks(testClient, { scenario: "many-orders" });
    const orders = [];
    for await (const order of mocks.vault.orders({ firstId: 1, lastId: 3 })) {
      orders.push(order);
    }
    assert.deepEqual(
      orders.map(({ orderID }) => orderID),
      [1n, 2n, 3n],
    );
  });

  it("Should settle and fail without any ethers import", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    assert.equal((await vault.settleAll()).status, "settled");
    await mocks.startNextRound();
    await mocks.fail("settleAll", "paused");
    assert.equal((await vault.settleAll()).status, "reverted");
    assert.match(encodeRevertData("paused"), /^0x08c379a0/);
  });
});

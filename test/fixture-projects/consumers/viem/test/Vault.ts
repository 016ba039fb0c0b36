import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { network } from "hardhat";
import { tradingAbi, vaultAbi, vaultFactoryAbi } from "hardhat-vault/abi";
import {
  changesReadings,
  roundSettled,
  settlesRound,
} from "hardhat-vault/assert";
import { Vault__factory } from "hardhat-vault/bindings";
import { MockVaultArtifact, deployMocks } from "hardhat-vault/mocks";
import { getContract } from "viem";

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

  it("Should make viem's contract objects of ABIs, bindings and mocks", async function () {
    const { addresses } = await networkHelpers.loadFixture(openRound);
    const address = addresses.vault;
    const client = { public: publicClient, wallet: walletClient };
    const scripted = getContract({
      abi: MockVaultArtifact.abi,
      address,
      client,
    });
    await scripted.write.setVolume([5n]);
    for (const abi of [vaultAbi, Vault__factory.abi] as const) {
      const viemVault = getContract({ abi, address, client });
      const volume: bigint = await viemVault.read.queryVolume();
      assert.equal(volume, 5n);
    }
    await getContract({ abi: vaultAbi, address, client }).write.settleAll();
    const { caller }: { caller: `0x${string}` } =
      await scripted.read.settlement([0n]);
    assert.equal(caller.toLowerCase(), walletClient.account.address);
    const mistakes = () => [
      // @ts-expect-error -- a volume is a bigint
      scripted.write.setVolume(["5"]),
      // @ts-expect-error -- the vault has no orders
      scripted.read.getOrderInfo([1n]),
    ];
    assert.equal(typeof mistakes, "function");
  });

  it("Should settle with a wallet client", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    await mocks.set({
      settlement: { settledPrice: 5n, settledAmount: 6n },
    });
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
});

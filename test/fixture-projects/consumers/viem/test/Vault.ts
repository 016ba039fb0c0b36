import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { network } from "hardhat";
import { tradingAbi, vaultAbi, vaultFactoryAbi } from "hardhat-vault/abi";
import { encodeRevertData } from "hardhat-vault/mocks";
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

  it("Should settle with a wallet client", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    await mocks.setSettlement({ settledPrice: 5n, settledAmount: 6n });
    const hash = await walletClient.writeContract({
      abi: vaultAbi,
      address: mocks.addresses.vault,
      functionName: "settleAll",
    });
    const receipt = await publicClient.getTransactionReceipt({ hash });
    assert.equal(receipt.status, "success");

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

  it("Should settle and fail without any ethers import", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    assert.equal((await vault.settleAll()).status, "settled");
    await mocks.startNextRound();
    await mocks.fail("settleAll", "paused");
    assert.equal((await vault.settleAll()).status, "reverted");
    assert.match(encodeRevertData("paused"), /^0x08c379a0/);
  });
});

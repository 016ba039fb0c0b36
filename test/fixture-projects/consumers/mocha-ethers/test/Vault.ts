import { expect } from "chai";
import { network } from "hardhat";
import { ContractType, OrderState } from "hardhat-vault";
import "hardhat-vault/chai";

const connection = await network.create();
const { ethers, networkHelpers, vault } = connection;

async function openRound() {
  return await vault.deployMocks();
}

async function expiredRound() {
  return await vault.deployMocks({
    scenario: "expired-round",
    overrides: { volume: 123n, settlement: { settledPrice: 7n } },
  });
}

describe("Vault", function () {
  it("Should start every test from its fixture", async function () {
    await networkHelpers.loadFixture(openRound);
    const first = await networkHelpers.loadFixture(expiredRound);
    expect(await vault.queryVolume()).to.equal(123n);
    await expect(vault.settleAll()).to.settleRound(vault).withPrice(7n);
    expect(await first.settlements()).to.have.length(1);

    await networkHelpers.loadFixture(openRound);
    await expect(vault).to.not.have.settledRound();
    const second = await networkHelpers.loadFixture(expiredRound);
    expect(await second.settlements()).to.have.length(0);
    expect(await vault.queryVolume()).to.equal(123n);
  });

  it("Should settle through a contract of this project", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    const { vaultFactory, vault: vaultAddress } = mocks.addresses;
    const settleTwice = await ethers.deployContract("SettleTwice");

    const tx = await settleTwice.settle(vaultAddress, vaultFactory);
    await expect(tx).to.settleRound(vault);
    await expect(tx).to.changeReadings(vault, { round: { settled: true } });
    await expect(tx).to.not.changeReadings(vault, { volume: { by: 1n } });

    await expect(
      settleTwice.settle(vaultAddress, vaultFactory),
    ).to.be.revertedWithCustomError(
      mocks.contracts.vault,
      "RoundAlreadySettled",
    );
  });

  it("Should script orders and failures", async function () {
    const mocks = await networkHelpers.loadFixture(openRound);
    const opened = await vault.getOrderInfo(1n);
    expect(opened.state).to.equal(OrderState.open);
    expect(opened.contractType).to.equal(ContractType.call);
    await mocks.set({ orders: { 1: { state: "closed" } } });
    const closed = await vault.getOrderInfo(1n);
    expect(closed.state).to.equal(OrderState.closed);

    await mocks.fail("settleAll", "paused");
    const settlement = await vault.settleAll();
    expect(settlement.status).to.equal("reverted");
    expect(settlement.reason).to.contain("paused");
  });
});

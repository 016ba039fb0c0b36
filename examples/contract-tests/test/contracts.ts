import { expect } from "chai";
import { network } from "hardhat";
import "hardhat-vault/chai";

const connection = await network.create();
const { ethers, networkHelpers, vault } = connection;

/** A next round: 1,000 tokens with 18 decimals, 20 %, in a week. */
const terms = {
  maxVolume: 1_000n * 10n ** 18n,
  APY: 20n * 10n ** 16n,
  endTime: 1_900_000_000n,
};
const margins = {
  baseMarginAmount: 52_500n * 10n ** 18n,
  xMarginAmount: 10_500n * 10n ** 18n,
};
const budget = 60_000n * 10n ** 18n;
const xMargin = 20_000n * 10n ** 18n;

async function router() {
  const mocks = await vault.deployMocks();
  // For these terms only: a router that asks for others finds no vault.
  await mocks.set({ margins: [{ ...terms, ...margins }] });
  const { vaultFactory, vault: vaultAddress } = mocks.addresses;
  const contract = await ethers.deployContract("Router", [
    vaultFactory,
    [vaultAddress],
  ]);
  const pick = async () =>
    await contract.pick(
      terms.maxVolume,
      terms.APY,
      terms.endTime,
      budget,
      xMargin,
    );
  return { mocks, contract, pick };
}

async function keeper() {
  const mocks = await vault.deployMocks({ scenario: "expired-round" });
  const { vaultFactory, vault: vaultAddress } = mocks.addresses;
  const contract = await ethers.deployContract("Keeper", [
    vaultAddress,
    vaultFactory,
  ]);
  return { mocks, contract };
}

describe("Router", function () {
  it("asks a vault for the margins of its terms, and picks it", async function () {
    const { mocks, pick } = await networkHelpers.loadFixture(router);
    expect(await pick()).to.deep.equal([
      mocks.addresses.vault,
      margins.baseMarginAmount,
    ]);
  });

  it("reverts with the cheapest margin if none is within the budget", async function () {
    const { mocks, contract, pick } = await networkHelpers.loadFixture(router);
    const tooMuch = { ...margins, baseMarginAmount: budget + 1n };
    await mocks.set({ margins: [{ ...terms, ...tooMuch }] });
    await expect(pick())
      .to.be.revertedWithCustomError(contract, "OverBudget")
      .withArgs(budget + 1n);
  });

  it("reverts if the X token margin at hand is below the factory's minimum", async function () {
    const { mocks, contract, pick } = await networkHelpers.loadFixture(router);
    await mocks.set({ minXMargin: xMargin + 1n });
    await expect(pick())
      .to.be.revertedWithCustomError(contract, "MarginTooSmall")
      .withArgs(xMargin + 1n);
  });
});

describe("Keeper", function () {
  it("settles an ended round, and reports its price", async function () {
    const { mocks, contract } = await networkHelpers.loadFixture(keeper);
    const price = 66_250n * 10n ** 18n;
    const transaction = await contract.settle();
    await expect(transaction).to.settleRound(vault).withPrice(price);
    await expect(transaction).to.changeReadings(vault, {
      round: { settled: true },
    });
    const [signer] = await ethers.getSigners();
    await expect(transaction)
      .to.emit(contract, "Settled")
      .withArgs(signer.address, price);
    const [settlement] = await mocks.settlements();
    expect(settlement.caller).to.equal(await contract.getAddress());
  });

  it("waits for the end of the next round", async function () {
    const { mocks, contract } = await networkHelpers.loadFixture(keeper);
    await contract.settle();
    await mocks.startNextRound();
    const { endTime } = await vault.getLatestRoundInfo();
    await expect(contract.settle())
      .to.be.revertedWithCustomError(contract, "NotEnded")
      .withArgs(endTime);
    await networkHelpers.time.increaseTo(endTime);
    await expect(contract.settle()).to.settleRound(vault);
  });

  it("passes on why the vault refuses", async function () {
    const { mocks, contract } = await networkHelpers.loadFixture(keeper);
    await mocks.fail("settleAll", "paused");
    await expect(contract.settle()).to.be.revertedWith("paused");
  });
});

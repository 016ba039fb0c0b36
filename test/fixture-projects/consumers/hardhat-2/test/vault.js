const { expect } = require("chai");
const hre = require("hardhat");
const { vaultAbi } = require("hardhat-vault/abi");
const tradingAbi = require("hardhat-vault/abi/Trading.json");
const { Vault__factory } = require("hardhat-vault/bindings");
const { VaultClient, isFailedReading } = require("hardhat-vault/client");
const { connectMocks, deployMocks, scenarios } = require("hardhat-vault/mocks");

const { provider } = hre.network;

async function refusal(promise) {
  return await promise.then(
    () => undefined,
    (error) => error,
  );
}

describe("hardhat-vault in CommonJS, on Hardhat 2", function () {
  let snapshot;

  beforeEach(async function () {
    snapshot = await provider.request({ method: "evm_snapshot" });
  });

  afterEach(async function () {
    await provider.request({ method: "evm_revert", params: [snapshot] });
  });

  it("says what to require in place of the plugin", function () {
    expect(() => require("hardhat-vault")).to.throw(
      /a plugin for Hardhat 3.*"hardhat-vault\/client", "hardhat-vault\/mocks"/,
    );
  });

  for (const scenario of Object.keys(scenarios)) {
    it(`deploys ${scenario}, and reads it all at one block`, async function () {
      const { timestamp } = await hre.ethers.provider.getBlock("latest");
      const { vault, ...mocks } = await deployMocks(provider, { scenario });
      expect(mocks.scenario).to.equal(scenario);
      const { round, pools, volume, minXMargin } = await vault.snapshot();
      // The node's clock runs on between its newest block and the mocks' time.
      const earliest = scenarios[scenario](BigInt(timestamp));
      const later = round.startTime - earliest.round.startTime;
      expect(Number(later)).to.be.within(0, 60);
      const expected = scenarios[scenario](BigInt(timestamp) + later);
      expect({ round, pools, volume, minXMargin }).to.deep.equal({
        round: expected.round,
        pools: expected.pools,
        volume: expected.volume,
        minXMargin: expected.minXMargin,
      });
    });
  }

  it("reads each value by itself", async function () {
    const { vault } = await deployMocks(provider);
    expect(await vault.getFundingFeeRate("call")).to.equal(25_000n);
    expect(await vault.getOrderInfo(1n)).to.include({ exType: "BTC-USDT" });
    expect(await vault.queryMarginBalance()).to.include({
      xMarginAmount: 840n * 10n ** 18n,
    });
  });

  it("scripts answers and failures", async function () {
    const mocks = await deployMocks(provider);
    await mocks.set({
      round: { strikePrice: 7n },
      orders: { 9: { state: "closed" } },
    });
    await mocks.fail("queryVolume", "closed today");
    const { round, volume } = await mocks.vault.snapshot();
    expect(round.strikePrice).to.equal(7n);
    expect(isFailedReading(volume)).to.equal(true);
    expect(await mocks.vault.getOrderInfo(9n)).to.include({ state: 2 });
    const error = await refusal(mocks.vault.queryVolume());
    expect(error.code).to.equal("VAULT_CALL_REVERTED");
    expect(error.message).to.contain("closed today");
    await mocks.succeed("queryVolume");
    expect(await mocks.vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });

  it("settles round after round, and tells who did", async function () {
    const mocks = await deployMocks(provider, {
      overrides: { settlement: { settledPrice: 5n } },
    });
    const [signer] = await hre.ethers.getSigners();
    const contract = Vault__factory.connect(mocks.addresses.vault, signer);
    await contract.settleAll();
    expect(await mocks.vault.getLatestRoundInfo()).to.include({
      settledPrice: 5n,
      settled: true,
    });
    await mocks.startNextRound();
    expect(await mocks.vault.getLatestRoundInfo()).to.include({
      settled: false,
    });
    const [settlement] = await mocks.settlements();
    expect(settlement.caller).to.equal(signer.address);
  });

  it("reads orders by the hundred", async function () {
    // Hardhat 2.22 takes twenty seconds for a thousand.
    this.timeout(300_000);
    const { vault } = await deployMocks(provider, { scenario: "many-orders" });
    const orders = [];
    for await (const order of vault.orders({ firstId: 1n, lastId: 100n })) {
      orders.push(order);
    }
    expect(orders).to.have.length(100);
    expect(orders[41]).to.include({ orderID: 42n, exType: "BNB-USDT" });
  });

  it("finds mocks again by their addresses", async function () {
    const { addresses } = await deployMocks(provider);
    const mocks = await connectMocks(provider, addresses);
    await mocks.set({ volume: 3n });
    const client = new VaultClient(provider, addresses);
    expect(await client.queryVolume()).to.equal(3n);
  });

  it("has the ABIs for contracts of this project's own making", async function () {
    const { addresses } = await deployMocks(provider);
    const vault = await hre.ethers.getContractAt(vaultAbi, addresses.vault);
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
    const trading = await hre.ethers.getContractAt(
      tradingAbi,
      addresses.trading,
    );
    expect((await trading.getOrderInfo(2n)).exType).to.equal("ETH-USDT");
  });
});

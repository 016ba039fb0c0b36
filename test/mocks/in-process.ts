import networkHelpers from "@nomicfoundation/hardhat-network-helpers";
import { expect } from "chai";
import type { EdrNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { createTestHre } from "../helpers/hre.js";

async function connect(
  settings: Partial<EdrNetworkUserConfig> = {},
): Promise<NetworkConnection> {
  const hre = await createTestHre({
    plugins: [networkHelpers],
    networks: { test: { type: "edr-simulated", ...settings } },
  });
  return await hre.network.create("test");
}

describe("mocks - in process", () => {
  const awkward: ReadonlyArray<[string, Partial<EdrNetworkUserConfig>]> = [
    ["a huge base fee", { initialBaseFeePerGas: 10n ** 18n }],
    ["another sender", { from: "0x0000000000000000000000000000000000000bad" }],
    ["mining off", { mining: { auto: false, interval: 0 } }],
    ["failures not thrown", { throwOnTransactionFailures: false }],
    ["no accounts", { accounts: [] }],
    ["rules of Osaka", { hardfork: "osaka" }],
    ["a rollup", { chainType: "op" }],
  ];
  for (const [what, settings] of awkward) {
    it(`deployMocks() and set() work with ${what}, and leave the accounts as they are`, async () => {
      const { vault, ethers } = await connect(settings);
      const accounts = async (): Promise<unknown> =>
        await Promise.all(
          (await ethers.getSigners())
            .slice(0, 1)
            .flatMap(({ address }) => [
              ethers.provider.getBalance(address),
              ethers.provider.getTransactionCount(address),
            ]),
        );
      const before = await accounts();
      const mocks = await vault.deployMocks();
      await mocks.set({ volume: 7n });
      expect(await mocks.contracts.vault.queryVolume()).to.equal(7n);
      expect(await vault.getLatestRoundInfo()).to.include({ settled: false });
      expect(await accounts()).to.deep.equal(before);
    });
  }

  it("deployMocks() and set() leave pending transactions, the block and the time set for the next one as they are", async () => {
    const { vault, ethers, provider } = await connect({
      mining: { auto: false, interval: 0 },
    });
    const [signer] = await ethers.getSigners();
    const pending = await signer?.sendTransaction({ to: signer.address });
    const time = (await vault.block()).timestamp + 1_000;
    await provider.request({
      method: "evm_setNextBlockTimestamp",
      params: [time],
    });
    const mocks = await vault.deployMocks();
    await mocks.set({ volume: 0n, round: { APY: 5n }, orders: { 9: {} } });
    await mocks.startNextRound();
    expect(await vault.queryVolume()).to.equal(0n);
    expect(await vault.getLatestRoundInfo()).to.include({ APY: 5n });
    expect(await vault.block()).to.include({ number: 0 });
    await provider.request({ method: "evm_mine" });
    expect(await vault.block()).to.include({ number: 1, timestamp: time });
    const { hash = "" } = pending ?? {};
    const receipt = await ethers.provider.getTransactionReceipt(hash);
    expect(receipt?.blockNumber).to.equal(1);
  });

  it("loadFixture() restores the mocks of each fixture, in any order", async () => {
    const { vault, networkHelpers: helpers } = await connect();
    const nothing = async (): Promise<void> => {
      await Promise.resolve();
    };
    const openRound = async (): Promise<MockVaultHandle> =>
      await vault.deployMocks();
    const settledRound = async (): Promise<MockVaultHandle> =>
      await vault.deployMocks({ scenario: "settled-round" });
    await helpers.loadFixture(nothing);
    for (const fixture of [
      ...[openRound, settledRound, openRound, openRound],
      ...[settledRound, settledRound, openRound],
    ]) {
      const mocks = await helpers.loadFixture(fixture);
      const settled = fixture === settledRound;
      expect(await vault.getLatestRoundInfo()).to.include({ settled });
      // The next fixture must not keep it.
      await mocks.set({ round: { settled: !settled } });
      expect(await vault.getLatestRoundInfo()).to.include({
        settled: !settled,
      });
    }
  });
});

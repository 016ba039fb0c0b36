import networkHelpers from "@nomicfoundation/hardhat-network-helpers";
import { expect } from "chai";
import type { EdrNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
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
    ["no accounts", { accounts: [] }],
    ["a fixed gas price", { gasPrice: 1n }],
    ["a fixed gas limit", { gas: 100_000n }],
    ["no base fee", { initialBaseFeePerGas: 0 }],
    ["a huge base fee", { initialBaseFeePerGas: 10n ** 18n }],
    ["small blocks", { blockGasLimit: 5_000_000n }],
    ["another sender", { from: "0x0000000000000000000000000000000000000bad" }],
    ["mining off", { mining: { auto: false, interval: 0 } }],
    ["failures not thrown", { throwOnTransactionFailures: false }],
    ["a clock in 1970", { initialDate: "1970-01-02T00:00:00Z" }],
    ["rules of Istanbul", { hardfork: "istanbul" }],
    ["rules of Berlin", { hardfork: "berlin" }],
    ["rules of London", { hardfork: "london" }],
    ["rules of Osaka", { hardfork: "osaka" }],
    ["a rollup", { chainType: "op" }],
    ["chain id 56", { chainId: 56 }],
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
      expect(await vault.queryVolume()).to.equal(7n);
      expect(await vault.getLatestRoundInfo()).to.include({ settled: false });
      expect(await accounts()).to.deep.equal(before);
    });
  }

  it("deployMocks() throws VAULT_MOCK_SCRIPT_FAILED with the gas if blocks are too small", async () => {
    const { vault } = await connect({ blockGasLimit: 1_000_000n });
    const { message } = await expectVaultError(
      vault.deployMocks(),
      "VAULT_MOCK_SCRIPT_FAILED",
    );
    expect(message).to.match(/with 1000000 gas, the network's blockGasLimit/u);
  });

  it("deployMocks() leaves mining off, and mines pending transactions", async () => {
    const { vault, ethers, provider } = await connect({
      mining: { auto: false, interval: 0 },
    });
    const [signer] = await ethers.getSigners();
    const pending = await signer?.sendTransaction({ to: signer.address });
    await vault.deployMocks();
    expect(await provider.request({ method: "hardhat_getAutomine" })).to.equal(
      false,
    );
    const { hash = "" } = pending ?? {};
    const receipt = await ethers.provider.getTransactionReceipt(hash);
    expect(receipt?.status).to.equal(1);
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

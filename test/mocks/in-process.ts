import networkHelpers from "@nomicfoundation/hardhat-network-helpers";
import { expect } from "chai";
import type { EdrNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import { fixedAddresses } from "../../src/client/addresses.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
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
    ["rules of London", { hardfork: "london" }],
    ["rules of Osaka", { hardfork: "osaka" }],
    ["a rollup", { chainType: "op" }],
    ["chain id 56", { chainId: 56 }],
  ];
  for (const [what, settings] of awkward) {
    it(`should work with ${what}`, async () => {
      const { vault } = await connect(settings);
      const mocks = await vault.deployMocks();
      await mocks.set({ volume: 7n });
      expect(await vault.queryVolume()).to.equal(7n);
      expect((await vault.getLatestRoundInfo()).settled).to.equal(false);
    });
  }

  it("should leave the user's accounts as they are", async () => {
    const { vault, ethers } = await connect();
    const [signer] = await ethers.getSigners();
    const account = signer?.address ?? "";
    const state = async (): Promise<unknown> => [
      await ethers.provider.getBalance(account),
      await ethers.provider.getTransactionCount(account),
    ];
    const before = await state();
    const mocks = await vault.deployMocks();
    await mocks.set({ volume: 7n });
    expect(await state()).to.deep.equal(before);
  });

  it("should leave mining off, and mine what was pending", async () => {
    const { vault, ethers, provider } = await connect({
      mining: { auto: false, interval: 0 },
    });
    const [signer] = await ethers.getSigners();
    const pending = await signer?.sendTransaction({ to: signer.address });
    await vault.deployMocks();
    expect(await provider.request({ method: "hardhat_getAutomine" })).to.equal(
      false,
    );
    const receipt = await ethers.provider.getTransactionReceipt(
      pending?.hash ?? "",
    );
    expect(receipt?.status).to.equal(1);
  });

  it("should forget the earlier scenario completely", async () => {
    const { vault } = await connect();
    const first = await vault.deployMocks({ scenario: "extremes" });
    await first.fail("queryVolume");
    await first.set({ missingOrdersRevert: true });
    await vault.settleAll();
    const fresh = await (await connect()).vault.deployMocks();
    const again = await vault.deployMocks();
    expect(await again.settlements()).to.deep.equal([]);
    for (const id of [0n, 1n, 4n, 2n ** 256n - 1n]) {
      expect(await vault.getOrderInfo(id), `order ${id}`).to.deep.equal(
        await fresh.vault.getOrderInfo(id),
      );
    }
    expect(await vault.queryVolume()).to.equal(await fresh.vault.queryVolume());
  });

  it("should keep the binding right whatever fixtures load in whatever order", async () => {
    const { vault, networkHelpers: helpers } = await connect();
    const openFixture = async (): Promise<MockVaultHandle> =>
      await vault.deployMocks();
    const settledFixture = async (): Promise<MockVaultHandle> =>
      await vault.deployMocks({ scenario: "settled-round" });
    const noFixture = async (): Promise<HardhatVault> =>
      await Promise.resolve(vault);
    await helpers.loadFixture(noFixture);
    const expectSettled = async (settled: boolean): Promise<void> => {
      expect((await vault.getLatestRoundInfo()).settled).to.equal(settled);
    };
    for (const [fixture, settled] of [
      [openFixture, false],
      [settledFixture, true],
      [openFixture, false],
      [openFixture, false],
      [settledFixture, true],
      [settledFixture, true],
      [openFixture, false],
    ] as const) {
      const mocks = await helpers.loadFixture(fixture);
      await expectSettled(settled);
      // What one test does must not reach the next.
      await mocks.set({ round: { settled: !settled } });
      await expectSettled(!settled);
    }
  });

  it("should hand out a handle that stays bound", async () => {
    const { vault } = await connect();
    const mocks = await vault.deployMocks();
    vault.bind(
      fixedAddresses(
        { vault: "0x00000000000000000000000000000000000000aa" },
        "a test",
      ),
    );
    await expectVaultError(vault.queryVolume(), "VAULT_NO_CODE");
    expect(await mocks.vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });
});

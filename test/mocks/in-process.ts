import networkHelpers from "@nomicfoundation/hardhat-network-helpers";
import { expect } from "chai";
import { concat, toBeHex, zeroPadValue } from "ethers";
import type { EdrNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import { operations } from "../../src/client/index.js";
import { generatedOrder } from "../../src/mocks/index.js";
import type { DeployMocksOptions, MockOrder } from "../../src/mocks/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { contracts } from "../helpers/distinct-state.js";
import { createTestHre } from "../helpers/hre.js";

const MAX_UINT256 = 2n ** 256n - 1n;

/** Ids at both ends, and texts of every kind. */
const odd: ReadonlyArray<[bigint, MockOrder]> = [
  [0n, { ...generatedOrder(1n), exType: "", number: 0n }],
  [
    MAX_UINT256,
    {
      ...generatedOrder(2n),
      exType: "long ".repeat(500),
      number: MAX_UINT256,
      holder: "0x00000000000000000000000000000000000000ab",
      state: 255,
      contractType: 0,
    },
  ],
  [MAX_UINT256 - 1n, { ...generatedOrder(3n), exType: "lone \ud800 比特币" }],
];

const many = new Map<bigint, MockOrder>([
  ...Array.from({ length: 200 }, (_, index): [bigint, MockOrder] => [
    BigInt(3 * index + 1),
    generatedOrder(BigInt(index)),
  ]),
  ...odd,
]);

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

  it("the vault of a handle stays bound to its mocks when others are deployed", async () => {
    const { vault } = await connect();
    const mocks = await vault.deployMocks();
    await vault.deployMocks({ at: contracts, overrides: { volume: 5n } });
    expect(await vault.queryVolume()).to.equal(5n);
    expect(await mocks.vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });
});

describe("mocks - many orders in process", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  const deploy = async (
    orders: ReadonlyMap<bigint, MockOrder | null> = many,
    options: DeployMocksOptions = {},
  ): Promise<void> => {
    mocks = await vault.deployMocks({
      scenario: "empty-vault",
      ...options,
      overrides: {
        orders: Object.fromEntries(
          [...orders].map(([id, order]) => [String(id), order]),
        ),
      },
    });
  };

  const raw = async (id: bigint): Promise<unknown> => {
    const { selector } = operations.getOrderInfo;
    const data = concat([selector, zeroPadValue(toBeHex(id), 32)]);
    return await vault.provider.request({
      method: "eth_call",
      params: [{ to: mocks.addresses.trading, data }, "latest"],
    });
  };

  beforeEach(async () => {
    ({ vault } = await connect());
  });

  it("deployMocks() records 200 orders in one transaction, with the answers that addOrders() makes", async () => {
    const ids = [...many.keys()].flatMap((id) => [
      id,
      // Between, before and behind them.
      ...(id === MAX_UINT256 ? [] : [id + 1n]),
    ]);
    const { number } = await vault.block();
    await deploy();
    expect((await vault.block()).number).to.equal(number + 1);
    const recorded = await Promise.all(ids.map(raw));
    await deploy(new Map());
    expect(await raw(1n)).not.to.equal(recorded[0]);
    await mocks.addOrders(many);
    expect(recorded).to.deep.equal(await Promise.all(ids.map(raw)));
  });

  it("set() and generateOrders() change recorded orders", async () => {
    await deploy();
    await mocks.set({ orders: { 4: { exType: "XRP-USDT" }, 7: null } });
    expect(await vault.getOrderInfo(4n)).to.deep.equal({
      ...generatedOrder(1n),
      exType: "XRP-USDT",
    });
    expect((await vault.getOrderInfo(7n)).state).to.equal(0);
    await mocks.generateOrders(1n, 8n);
    expect(await vault.getOrderInfo(1n)).to.deep.equal(generatedOrder(0n));
    expect(await vault.getOrderInfo(2n)).to.deep.equal(generatedOrder(2n));
  });

  it("deployMocks() removes recorded orders, and evm_revert restores them", async () => {
    await deploy();
    const snapshot: unknown = await vault.provider.request({
      method: "evm_snapshot",
    });
    await vault.deployMocks();
    expect(await vault.getOrderInfo(598n)).to.have.property("state", 0);
    await deploy(new Map([...many].map(([id]) => [id, generatedOrder(9n)])));
    await vault.provider.request({ method: "evm_revert", params: [snapshot] });
    expect(await vault.getOrderInfo(598n)).to.deep.equal(generatedOrder(199n));
  });

  it("deployMocks() removes a generated order among recorded ones", async () => {
    const orders = new Map<bigint, MockOrder | null>([...many, [5n, null]]);
    await deploy(orders, { scenario: "many-orders" });
    expect(await vault.getOrderInfo(4n)).to.deep.equal(generatedOrder(1n));
    expect(await vault.getOrderInfo(5n)).to.have.property("state", 0);
    expect(await vault.getOrderInfo(6n)).to.deep.equal(generatedOrder(6n));
  });

  it("deployMocks() keeps recorded orders of two vaults apart, also under the same ids", async () => {
    await deploy();
    const { addresses } = mocks;
    const others = [...many].map(([id]) => [id, generatedOrder(9n)] as const);
    await deploy(new Map(others), { at: contracts });
    expect(await vault.at(addresses).getOrderInfo(598n)).to.deep.equal(
      generatedOrder(199n),
    );
  });

  it("deployMocks() removes recorded orders that it records under other ids", async () => {
    for (const first of [0, 16]) {
      await deploy(
        new Map(
          Array.from({ length: 112 }, (_, index) => [
            BigInt(first + index),
            // Seven pages of the same 16 orders.
            generatedOrder(BigInt(index % 16)),
          ]),
        ),
      );
      expect(await vault.getOrderInfo(0n)).to.have.property(
        "state",
        first === 0 ? generatedOrder(0n).state : 0,
      );
    }
  });
});

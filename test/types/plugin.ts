// Checked by tsc and never run: what a consumer of the plugin sees.
import { expect } from "chai";
import type { ContractTransactionResponse } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import "../../src/chai/index.js";
import { connectMocks } from "../../src/mocks/index.js";
import type {
  Address,
  ExpectedReadings,
  HardhatVault,
  LazyHardhatVault,
  MockVaultHandle,
  Settlement,
  Simulation,
  Transfer,
  VaultClient,
  VaultContracts,
  VaultNetworkUserConfig,
  VaultReads,
} from "../../src/index.js";
import type { Address as ViemAddress, Hash as ViemHash } from "viem";
import { expectAssignable, expectType } from "./expect-type.js";
import type { Same } from "./expect-type.js";

declare const hre: HardhatRuntimeEnvironment;

export async function runtime(): Promise<void> {
  expectType<Same<typeof hre.vault, LazyHardhatVault>>();
  const connection = await hre.network.create();
  expectType<Same<typeof connection.vault, HardhatVault>>();
  expectAssignable<VaultClient>(connection.vault);
  // hardhat-ethers' types come with ours.
  const [signer] = await connection.ethers.getSigners();
  expectType<Same<NonNullable<typeof signer>["address"], string>>();
}

export async function lazyVault(): Promise<void> {
  const { vault } = hre;
  expectAssignable<VaultReads>(vault);
  expectType<Same<typeof vault.contracts, Promise<VaultContracts>>>();
  expectType<Same<ReturnType<typeof vault.at>, LazyHardhatVault>>();
  expectType<Same<ReturnType<typeof vault.instance>, LazyHardhatVault>>();
  const connected = await vault.connect("mainnet");
  expectType<Same<typeof connected, HardhatVault>>();
  const settlement = await vault.settleAll();
  expectType<Same<typeof settlement, Settlement>>();
  const simulation = await vault.simulateSettleAll();
  expectType<Same<typeof simulation, Simulation>>();
  const mocks = await vault.deployMocks();
  expectType<Same<typeof mocks, MockVaultHandle>>();

  // @ts-expect-error -- the key is "volume"
  await mocks.set({ volumes: 1n });
  // @ts-expect-error -- a text, or an object with one of three keys
  await mocks.fail("queryVolume", {});
  // @ts-expect-error -- the function's name on the wire
  await mocks.fail("minSLDMargin");
  // @ts-expect-error -- public or private
  await mocks.fail("getLPAmountInfo", "dry", { args: ["both"] });
  // @ts-expect-error -- a condition of another name
  await mocks.succeed("getOrderInfo", { orderId: 1n });
  // @ts-expect-error -- not a value of a new round
  await mocks.startNextRound({ settled: true });
  // @ts-expect-error -- no such contract
  await vault.mockAt("oracle");
  // @ts-expect-error -- five addresses are missing
  await vault.deployMocks({ at: { vault: "0x" } });
  // @ts-expect-error -- it has no connection of its own to show
  vault.connection;
}

export async function matchers(
  tx: ContractTransactionResponse,
  { provider, vault }: NetworkConnection,
): Promise<void> {
  // @ts-expect-error -- three values in one object
  await expect(tx).to.have.calledVault(vault, "calMargins", [1n, 2n, 3n]);
  // @ts-expect-error -- it takes no argument
  await expect(tx).to.have.calledVault(vault, "queryVolume", [1n]);
  // @ts-expect-error -- no such code
  await expect(tx).to.be.rejectedWithVaultError("VAULT_OOPS");

  const { addresses } = await connectMocks(await hre.vault.connect());
  // @ts-expect-error -- five roles are missing
  await connectMocks(provider, { vault: addresses.vault });
}

export async function ownVault({ vault }: NetworkConnection): Promise<void> {
  const fork = await vault.fork();
  expectType<Same<typeof fork.vault, HardhatVault>>();
  expectType<Same<ReturnType<typeof vault.instance>, HardhatVault>>();
  const { status, hash, guard } = await vault.settleAll();
  expectAssignable<ViemAddress | null>(guard);
  expectAssignable<ViemHash | null>(hash);
  expectType<
    Same<
      typeof status,
      | "settled"
      | "not-settled"
      | "nothing-to-do"
      | "refused"
      | "reverted"
      | "unconfirmed"
      | "cancelled"
    >
  >();
  const simulated = await vault.simulateSettleAll();
  expectType<Same<typeof simulated.guard, Address | null>>();
  expectType<Same<Transfer["token"], Address | "native">>();
  expectType<
    Same<
      typeof simulated.status,
      "settled" | "not-settled" | "reverted" | "nothing-to-do"
    >
  >();
}

export const badConfigs = [
  // @ts-expect-error -- no such contract
  { contracts: { pool: "0x" } },
  // @ts-expect-error -- an address is text or a configuration variable
  { contracts: { vault: 12 } },
  // @ts-expect-error -- decimals are a number
  { tokenDecimals: "18" },
  // @ts-expect-error -- no such setting
  { decimals: 18 },
  // @ts-expect-error -- the protocol gives its scale
  { displayDecimals: { "round.strikePrice": 18 } },
  // @ts-expect-error -- an instance has none of its own
  { instances: { usdc: { instances: {} } } },
] satisfies VaultNetworkUserConfig[];

export const badExpectations = [
  // @ts-expect-error -- there is no such field
  { round: { settld: true } },
  // @ts-expect-error -- a truth value is not an integer
  { volume: true },
  // @ts-expect-error -- truth values have no difference
  { round: { settled: { by: 1n } } },
] satisfies ExpectedReadings[];

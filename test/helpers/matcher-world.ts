import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { HardhatUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVault, MockVaultFactory } from "../../src/bindings/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { VaultRound } from "../../src/protocol/index.js";
import { createTestHre } from "./hre.js";
import { deployProtocol } from "./mock-protocol.js";

/** Mock contracts on an in-process network, and a vault that reads them. */
export interface MatcherWorld {
  readonly connection: NetworkConnection;
  readonly vault: HardhatVault;
  readonly mockVault: MockVault;
  readonly mockFactory: MockVaultFactory;
  readonly signer: HardhatEthersSigner;
}

export const SETTLED_PRICE = 2_000n * 10n ** 18n;
export const SETTLED_AMOUNT = 77n;

export const openRound: VaultRound = {
  strikePrice: 1_900n * 10n ** 18n,
  APY: 10n ** 17n,
  maxVolume: 1_000n,
  filledVolume: 600n,
  minDeposit: 1n,
  startTime: 1_700_000_000n,
  endTime: 1_800_000_000n,
  settledPrice: 0n,
  settledAmount: 0n,
  settled: false,
};

/** Contracts of our own, not `deployMocks()`: that has tests of its own. */
export async function createMatcherWorld(
  userConfig: HardhatUserConfig = {},
): Promise<MatcherWorld> {
  const hre = await createTestHre(userConfig);
  const connection = await hre.network.create();
  const [signer] = await connection.ethers.getSigners();
  if (signer === undefined) {
    throw new Error("an in-process network has accounts");
  }
  const { mocks, contracts } = await deployProtocol(signer);
  const { vault: mockVault, vaultFactory: mockFactory } = mocks;
  await mockVault.setSettlement(SETTLED_PRICE, SETTLED_AMOUNT);
  await mockVault.setVolume(100n);
  await mockFactory.setRound(openRound);
  const vault = connection.vault.at({ ...contracts, trading: undefined });
  return { connection, vault, mockVault, mockFactory, signer };
}

/** The failure of an assertion; anything else is thrown. */
export async function failureOf(
  assertion: () => PromiseLike<unknown>,
): Promise<string> {
  try {
    await assertion();
  } catch (error) {
    if (error instanceof Error && error.name === "AssertionError") {
      return error.message;
    }
    throw error;
  }
  throw new Error("the assertion passed, but it must fail");
}

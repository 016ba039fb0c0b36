import { id } from "ethers";

import { vaultError } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import {
  MockLiquidityPoolArtifact,
  MockTradingArtifact,
  MockUnderlyingAssetArtifact,
  MockVaultArtifact,
  MockVaultFactoryArtifact,
} from "./artifacts.js";
import type { MockHost } from "./types.js";

/** The artifact of each role's mock. */
export const mockArtifacts = {
  underlyingAsset: MockUnderlyingAssetArtifact,
  publicPool: MockLiquidityPoolArtifact,
  privatePool: MockLiquidityPoolArtifact,
  trading: MockTradingArtifact,
  vaultFactory: MockVaultFactoryArtifact,
  vault: MockVaultArtifact,
} as const satisfies Record<ContractRole, unknown>;

/** Addresses of the six mocks. */
export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

/** The address of every role, found one by one. */
export async function addressesByRole(
  locate: (role: ContractRole) => string | Promise<string>,
): Promise<MockAddresses> {
  const located = await Promise.all(
    contractRoleNames.map(async (role) => [role, await locate(role)] as const),
  );
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
  return Object.fromEntries(located) as MockAddresses;
}

/** How many scripts each mock has counted; none where no such mock stands. */
export type ScriptCounts = ReadonlyMap<ContractRole, bigint>;

const MOCK_INFO_SELECTOR = id("mockInfo()").slice(0, 10);

/** Asks each role's contract if it is its mock, and how often it was scripted. */
export async function countScripts(
  vault: MockHost,
  addresses: MockAddresses,
): Promise<ScriptCounts> {
  const { from } = vault.readContext({});
  const counts = new Map<ContractRole, bigint>();
  await Promise.all(
    contractRoleNames.map(async (role) => {
      const info = await vault.chain.request("eth_call", [
        { from, to: addresses[role], data: MOCK_INFO_SELECTOR },
        "latest",
      ]);
      const kind = id(`hardhat-vault/${mockArtifacts[role].contractName}`);
      if (typeof info === "string" && info.startsWith(kind)) {
        counts.set(role, BigInt(`0x${info.slice(kind.length)}`));
      }
    }),
  );
  return counts;
}

/**
 * Fails unless each role's contract is its mock. A script sent anywhere else
 * would be a transaction to a stranger, or succeed without doing anything.
 *
 * @throws VaultError VAULT_NOT_A_MOCK
 */
export function requireMocks(
  vault: MockHost,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
  counts: ScriptCounts,
): void {
  for (const role of roles) {
    if (!counts.has(role)) {
      throw vaultError("VAULT_NOT_A_MOCK", {
        contract: contractRoles[role].label,
        address: addresses[role],
        network: vault.networkName,
      });
    }
  }
}

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

const MOCK_KIND_SELECTOR = id("mockKind()").slice(0, 10);

/** True if the role's mock stands at the address. */
export async function isMock(
  { chain }: MockHost,
  role: ContractRole,
  address: string,
): Promise<boolean> {
  const kind = await chain.request("eth_call", [
    { to: address, data: MOCK_KIND_SELECTOR },
    "latest",
  ]);
  return kind === id(`hardhat-vault/${mockArtifacts[role].contractName}`);
}

/**
 * Fails unless each role's contract is its mock. A script sent anywhere else
 * would be a transaction to a stranger, or succeed without doing anything.
 *
 * @throws VaultError VAULT_NOT_A_MOCK
 */
export async function requireMocks(
  vault: MockHost,
  addresses: MockAddresses,
  roles: Iterable<ContractRole>,
): Promise<void> {
  await Promise.all(
    [...roles].map(async (role) => {
      const address = addresses[role];
      if (!(await isMock(vault, role, address))) {
        throw vaultError("VAULT_NOT_A_MOCK", {
          contract: contractRoles[role].label,
          address,
          network: vault.networkName,
        });
      }
    }),
  );
}

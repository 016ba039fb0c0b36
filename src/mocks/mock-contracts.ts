import { getAddress, hexlify, id } from "ethers";

import type { VaultClient } from "../client/vault-client.js";
import { vaultError } from "../errors.js";
import { byRole, contractRoleNames, contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import {
  MockLiquidityPoolArtifact,
  MockTradingArtifact,
  MockUnderlyingAssetArtifact,
  MockVaultArtifact,
  MockVaultFactoryArtifact,
} from "./artifacts.js";

export const mockArtifacts = {
  underlyingAsset: MockUnderlyingAssetArtifact,
  publicPool: MockLiquidityPoolArtifact,
  privatePool: MockLiquidityPoolArtifact,
  trading: MockTradingArtifact,
  vaultFactory: MockVaultFactoryArtifact,
  vault: MockVaultArtifact,
} as const satisfies Record<ContractRole, unknown>;

export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

/**
 * The address of every role.
 *
 * @param operation What needs them, named in errors.
 * @param otherwise Gives the address of a contract that has none.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED
 */
export async function addressesOf(
  vault: VaultClient,
  operation?: string,
  otherwise?: (error: unknown) => string,
): Promise<MockAddresses> {
  const located = contractRoleNames.map(async (role) => [
    role,
    await vault
      .addressOf(role, operation)
      .then(({ address }) => address, otherwise),
  ]);
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
  return Object.fromEntries(await Promise.all(located)) as MockAddresses;
}

const MOCK_KIND_SELECTOR = id("mockKind()").slice(0, 10);

/**
 * Fails unless each role's contract is its mock. A script sent anywhere else
 * would be a transaction to a stranger, or succeed without doing anything.
 *
 * @throws VaultError VAULT_NOT_A_MOCK
 */
export async function requireMocks(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
): Promise<void> {
  const { from } = vault.readContext({});
  await Promise.all(
    roles.map(async (role) => {
      const call = { from, to: addresses[role], data: MOCK_KIND_SELECTOR };
      const kind = await vault.rpc.call(call, "latest");
      const expected = id(`hardhat-vault/${mockArtifacts[role].contractName}`);
      if ("reverted" in kind || hexlify(kind.data) !== expected) {
        throw vaultError("VAULT_NOT_A_MOCK", {
          contract: contractRoles[role].label,
          address: addresses[role],
          network: vault.networkName,
        });
      }
    }),
  );
}

/**
 * In process every role has one address, always the same, so that fixtures can
 * be loaded in any order and the binding still names code. They start with
 * "vault" in ASCII, where no deployment ends up. With checksums, on which viem
 * insists.
 */
export const inProcessMockAddresses: MockAddresses = {
  underlyingAsset: "0x7661756C74000000000000000000000000000001",
  publicPool: "0x7661756C74000000000000000000000000000002",
  privatePool: "0x7661756c74000000000000000000000000000003",
  trading: "0x7661756c74000000000000000000000000000004",
  vaultFactory: "0x7661756C74000000000000000000000000000005",
  vault: "0x7661756C74000000000000000000000000000006",
};

/** The addresses in process; each instance of a network has its own. */
export function inProcessAddresses(instance = ""): MockAddresses {
  const digits = instance === "" ? "0".repeat(28) : id(instance).slice(-28);
  return byRole((role) => {
    const address = inProcessMockAddresses[role].toLowerCase();
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every address begins so
    return getAddress(address.replace("0".repeat(28), digits)) as `0x${string}`;
  });
}

/**
 * Places code, whatever stands there. The mocks have no constructor that would
 * have to run. Anvil knows this method by Hardhat's name, too.
 */
export async function placeCode(
  { rpc }: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
): Promise<void> {
  for (const role of roles) {
    const { deployedBytecode } = mockArtifacts[role];
    await rpc.request("hardhat_setCode", [addresses[role], deployedBytecode]);
  }
}

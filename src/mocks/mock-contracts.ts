import { getAddress, id } from "ethers";

import type { VaultClient } from "../client/vault-client.js";
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
  vault: VaultClient,
  addresses: MockAddresses,
): Promise<ScriptCounts> {
  const { from } = vault.readContext({});
  const counts = new Map<ContractRole, bigint>();
  await Promise.all(
    contractRoleNames.map(async (role) => {
      const info = await vault.rpc.request("eth_call", [
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
  vault: VaultClient,
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

/** The address in process, where each instance of a network has its own. */
export function inProcessAddressOf(
  role: ContractRole,
  instance: string | undefined,
): string {
  const zeros = "0".repeat(28);
  const digits = instance === undefined ? zeros : id(instance).slice(-28);
  const address = inProcessMockAddresses[role].toLowerCase();
  return getAddress(address.replace(zeros, digits));
}

/**
 * Places the mocks' code where it is to be, whatever stands there. They have
 * no constructor that would have to run, so the code is all there is.
 *
 * Anvil knows these methods by Hardhat's names too.
 */
export async function placeMocks(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<void> {
  await Promise.all(
    roles.map(
      async (role) =>
        await vault.rpc.request("hardhat_setCode", [
          addresses[role],
          mockArtifacts[role].deployedBytecode,
        ]),
    ),
  );
}

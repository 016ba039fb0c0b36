import { getAddress, id } from "ethers";

import { invalidArgument } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { mockArtifacts } from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import type { MockHost } from "./types.js";

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

/** Of the network's own contracts, or of one of its instances. */
export function inProcessAddressOf(
  role: ContractRole,
  instance: string | undefined,
): string {
  const address = inProcessMockAddresses[role];
  const zeros = "0".repeat(28);
  return instance === undefined
    ? address
    : getAddress(
        address.toLowerCase().replace(zeros, id(instance).slice(-zeros.length)),
      );
}

/**
 * Places the mocks' code where it is to be, whatever stands there. They have
 * no constructor that would have to run, so the code is all there is.
 *
 * Anvil knows these methods by Hardhat's names too.
 */
export async function placeMocks(
  vault: MockHost,
  addresses: MockAddresses,
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<void> {
  await Promise.all(
    roles.map(async (role) => {
      await vault.chain.request("hardhat_setCode", [
        addresses[role],
        mockArtifacts[role].deployedBytecode,
      ]);
    }),
  );
}

/**
 * Fails if two contracts have the same address: there is room for one mock.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT
 */
export function requireDistinct(
  addresses: MockAddresses,
  roles: readonly ContractRole[],
): void {
  for (const role of roles) {
    const other = contractRoleNames.find(
      (each) => each !== role && addresses[each] === addresses[role],
    );
    if (other !== undefined) {
      throw invalidArgument(
        `The address ${addresses[role]}`,
        `it is both ${role} and ${other}, and one mock cannot be two contracts`,
      );
    }
  }
}

import type { BlockId } from "../rpc/blocks.js";
import { hexlify, id, toBigInt } from "ethers";

import { callContract } from "../rpc/calls.js";
import type { VaultClient } from "../client/vault-client.js";
import { vaultError } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";

export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

/**
 * @param operation The operation that needs the addresses, for errors.
 * @param otherwise Returns the address of a contract that has none.
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
  // every role has an entry
  return Object.fromEntries(await Promise.all(located)) as MockAddresses;
}

const MOCK_INFO_SELECTOR = id("mockInfo()").slice(0, 10);

/** @returns The scripts that each mock has counted, without roles that are no mocks. */
export async function countScripts(
  vault: VaultClient,
  addresses: MockAddresses,
  block: BlockId = "latest",
): Promise<ReadonlyMap<ContractRole, bigint>> {
  const { from } = vault.readContext({});
  const counts = new Map<ContractRole, bigint>();
  await Promise.all(
    contractRoleNames.map(async (role) => {
      const info = await callContract(
        vault.rpc,
        { from, to: addresses[role], data: MOCK_INFO_SELECTOR },
        block,
      );
      const kind = id(`hardhat-vault/Mock${contractRoles[role].abi}`);
      if (
        "data" in info &&
        info.data.length === 64 &&
        hexlify(info.data.subarray(0, 32)) === kind
      ) {
        counts.set(role, toBigInt(info.data.subarray(32)));
      }
    }),
  );
  return counts;
}

/**
 * Checks that each role's contract is its mock: another contract could accept a
 * script and do nothing, or something else.
 */
export async function requireMocks(
  vault: VaultClient,
  addresses: MockAddresses,
  roles: readonly ContractRole[],
): Promise<void> {
  const known = await countScripts(vault, addresses);
  for (const role of roles) {
    if (!known.has(role)) {
      throw vaultError("VAULT_NOT_A_MOCK", {
        contract: contractRoles[role].label,
        address: addresses[role],
        network: vault.networkName,
      });
    }
  }
}

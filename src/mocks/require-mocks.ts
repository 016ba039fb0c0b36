import { id } from "ethers";

import { requestRpc } from "../rpc/request.js";
import { vaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import type { MockAddresses } from "./setters.js";
import type { MockHost } from "./types.js";

/** What `mockKind()` of each role's mock answers. */
const mockKinds: Readonly<Record<ContractRole, string>> = {
  underlyingAsset: id("hardhat-vault/MockUnderlyingAsset"),
  publicPool: id("hardhat-vault/MockLiquidityPool"),
  privatePool: id("hardhat-vault/MockLiquidityPool"),
  trading: id("hardhat-vault/MockTrading"),
  vaultFactory: id("hardhat-vault/MockVaultFactory"),
  vault: id("hardhat-vault/MockVault"),
};

const MOCK_KIND_SELECTOR = id("mockKind()").slice(0, 10);

/** True if the role's mock stands at the address. */
export async function isMock(
  { provider, networkName }: MockHost,
  role: ContractRole,
  address: string,
): Promise<boolean> {
  const kind = await requestRpc(provider, networkName, "eth_call", [
    { to: address, data: MOCK_KIND_SELECTOR },
    "latest",
  ]);
  return kind === mockKinds[role];
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

import type { LocatedAddress } from "../src/client/addresses.js";
import { otherwise } from "../src/errors.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import type { ContractRole } from "../src/protocol/index.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";

/** Where those contracts are that have an address. */
export async function locateContracts(
  vault: HardhatVault,
): Promise<ReadonlyMap<ContractRole, LocatedAddress>> {
  // At once, so that what deploy-mocks wrote is looked up once for all of them.
  const located = await Promise.all(
    contractRoleNames.map(
      async (role) =>
        await vault.addressOf(role).then(
          (address) => [[role, address] as const],
          // The read that needs it says why there is none.
          otherwise([]),
        ),
    ),
  );
  return new Map(located.flat());
}

/** The roles of contracts, by address. */
export function namesOf(
  contracts: ReadonlyMap<ContractRole, LocatedAddress>,
): ReadonlyMap<string, string> {
  return new Map(
    [...contracts].map(([role, { address }]) => [
      address,
      `${contractRoles[role].label} contract`,
    ]),
  );
}

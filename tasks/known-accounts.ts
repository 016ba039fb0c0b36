import { getAddress, isHexString } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { LocatedAddress } from "../src/client/addresses.js";
import { otherwise } from "../src/errors.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import type { ContractRole } from "../src/protocol/index.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { requestRpc } from "../src/rpc/request.js";
import { selectedNetwork } from "./open-vault.js";

/** Names that the project has for addresses, by address. */
export type KnownAccounts = ReadonlyMap<string, string>;

/**
 * The accounts that the project knows, without asking a person for them: the
 * sender and, of the vault in hand, the contracts that the configuration has
 * written out or deploy-mocks left; and the accounts of an in-process network.
 * A node is asked only where deploy-mocks left mocks for some chain.
 */
export async function findKnownAccounts(
  hre: HardhatRuntimeEnvironment,
  vault: HardhatVault,
): Promise<KnownAccounts> {
  const { name, config } = selectedNetwork(hre);
  const known = new Map<string, string>();
  const add = (address: unknown, label: string): void => {
    if (isHexString(address, 20)) {
      known.set(getAddress(address.toLowerCase()), label);
    }
  };
  add(config.from, "configured sender");
  if (config.type === "edr-simulated") {
    const accounts = await requestRpc(
      vault.provider,
      vault.networkName,
      "eth_accounts",
      [],
    );
    if (Array.isArray(accounts)) {
      accounts.forEach((account, index) => {
        add(account, `account #${index}`);
      });
    }
  }
  const { contracts, instances } = hre.userConfig.networks?.[name]?.vault ?? {};
  const instance =
    vault.instanceName === undefined
      ? undefined
      : instances?.[vault.instanceName]?.contracts;
  const located = await locateContracts(
    vault,
    contractRoleNames.filter((role) => {
      const written = instance?.[role] ?? contracts?.[role];
      // Resolving a variable may ask for a password.
      return written === undefined || typeof written === "string";
    }),
  );
  return new Map([...known, ...namesOf(located)]);
}

/** Where those contracts are that have an address. */
export async function locateContracts(
  vault: HardhatVault,
  roles: readonly ContractRole[] = contractRoleNames,
): Promise<ReadonlyMap<ContractRole, LocatedAddress>> {
  // At once, so that what deploy-mocks wrote is looked up once for all of them.
  const located = await Promise.all(
    roles.map(
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

/** What contracts are called, by address. */
export function namesOf(
  contracts: ReadonlyMap<ContractRole, LocatedAddress>,
): KnownAccounts {
  return new Map(
    [...contracts].map(([role, { address }]) => [
      address,
      `${contractRoles[role].label} contract`,
    ]),
  );
}

import { getAddress } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { requestRpc } from "../src/rpc/request.js";
import { selectedNetwork } from "./open-vault.js";

/** Names that the project has for addresses, by address. */
export type KnownAccounts = ReadonlyMap<string, string>;

/**
 * The accounts that the project knows, without asking a node or a person for
 * them: what is written in the configuration, and on an in-process network its
 * accounts and mocks.
 */
export async function findKnownAccounts(
  hre: HardhatRuntimeEnvironment,
  vault: HardhatVault,
): Promise<KnownAccounts> {
  const { name, config } = selectedNetwork(hre);
  const known = new Map<string, string>();
  const add = (address: unknown, label: string): void => {
    if (typeof address === "string" && /^0x[0-9a-fA-F]{40}$/u.test(address)) {
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
  // As the user wrote it: resolving a variable may ask for a password.
  const { contracts = {} } = hre.userConfig.networks?.[name]?.vault ?? {};
  for (const role of contractRoleNames) {
    const written = contracts[role];
    const address =
      written === undefined && config.type === "edr-simulated"
        ? await vault.addressOf(role).then(
            (located) => located.address,
            () => undefined,
          )
        : written;
    add(address, `${contractRoles[role].label} contract`);
  }
  return known;
}

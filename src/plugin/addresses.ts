import type {
  NetworkConfig,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import { firstOf } from "../client/addresses.js";
import type { AddressResolver, LocatedAddress } from "../client/addresses.js";
import { describeInput, parseAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { toConfigVariableError } from "../rpc/hardhat-errors.js";
import type { VaultInstanceConfig } from "./config.js";
import type { DeploymentAddresses } from "./deployments.js";

/** Addresses in the settings of an instance, or of the network itself. */
export function configuredAddresses(
  networkName: string,
  networkConfig: NetworkConfig,
  instance?: string,
): AddressResolver {
  const { contracts } = settingsOf(networkName, networkConfig, instance);
  const path = settingsPath(networkName, instance);
  return async (role) => {
    const address = contracts[role];
    const source = `${path}.contracts.${role}`;
    return address === undefined
      ? { path: source, hint: "" }
      : await resolveAddress(address, source);
  };
}

/** True if the settings of the instance, or of the network itself, have a contract. */
export function hasContracts(
  networkName: string,
  networkConfig: NetworkConfig,
  instance?: string,
): boolean {
  return [undefined, instance]
    .map((one) => settingsOf(networkName, networkConfig, one).contracts)
    .some((contracts) => Object.keys(contracts).length > 0);
}

export interface ConnectionAddresses {
  readonly locate: AddressResolver;
  /** For instances, which inherit no mocks of deploy-mocks. */
  readonly locateWithoutMocks: AddressResolver;
  /** Puts these addresses first, and drops those bound before. */
  bind(addresses: AddressResolver): void;
}

/**
 * Looks an address up in this order: bound addresses, the settings, those of the network for
 * an instance, the mocks of deploy-mocks.
 *
 * @param mocks Undefined for a fork, whose upstream has them.
 */
export function connectionAddresses(
  configured: AddressResolver,
  network?: ConnectionAddresses,
  mocks?: DeploymentAddresses["find"],
): ConnectionAddresses {
  const own =
    network === undefined
      ? configured
      : firstOf(configured, network.locateWithoutMocks);
  let current = own;
  return {
    locate: async (role) => {
      const found = await current(role);
      return "address" in found || mocks === undefined
        ? found
        : { ...(await configured(role)), ...(await mocks(role)) };
    },
    locateWithoutMocks: async (role) => await current(role),
    bind: (bound) => {
      current = firstOf(bound, own);
    },
  };
}

export function settingsPath(networkName: string, instance?: string): string {
  const path = `networks.${networkName}.vault`;
  return instance === undefined ? path : `${path}.instances.${instance}`;
}

/** @throws VaultError VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE */
export async function resolveAddress(
  setting: ResolvedConfigurationVariable,
  source: string,
): Promise<LocatedAddress> {
  const value = await setting.get().catch((error: unknown) => {
    throw toConfigVariableError(error, source);
  });
  // A variable may hold a secret by mistake.
  const address = parseAddress(value, source, "the configured value");
  return { address, source };
}

/** @throws VaultError VAULT_UNKNOWN_INSTANCE */
export function settingsOf(
  networkName: string,
  { vault }: NetworkConfig,
  instance: string | undefined,
): VaultInstanceConfig {
  if (instance === undefined) {
    return vault;
  }
  const names = Object.keys(vault.instances);
  const settings = vault.instances[instance];
  if (settings === undefined || !names.includes(instance)) {
    throw vaultError("VAULT_UNKNOWN_INSTANCE", {
      network: networkName,
      instance: describeInput(instance),
      known: names.length === 0 ? "none" : names.join(", "),
    });
  }
  return settings;
}

import type { NetworkConfig } from "hardhat/types/config";

import { isLocated, orCallAt, orElse } from "../client/addresses.js";
import type { AddressBook } from "../client/addresses.js";
import { describeInput, parseAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { toConfigVariableError } from "../rpc/errors.js";
import type { VaultInstanceConfig } from "./config-types.js";
import type { DeploymentAddresses } from "./deployments.js";

/** Where a connection, or an instance on it, finds addresses. */
export interface ConnectionAddresses {
  /**
   * Mocks that were bound to it, then (on a fork) where the forked network has
   * the contracts, then the configuration, then what `vault deploy-mocks` left
   * behind.
   */
  readonly locate: AddressBook;
  /** The same without what was left behind. */
  readonly locateNamed: AddressBook;
  /** From now on these addresses come first. */
  bind(addresses: AddressBook): void;
  /** This connection is a fork: what is not bound is where it is upstream. */
  follow(upstream: AddressBook): void;
}

/** One of the sets of contracts on a network. */
export interface InstanceOfNetwork {
  readonly name: string;
  /** Where what the instance leaves out is. */
  readonly network: ConnectionAddresses;
}

/**
 * The addresses of a connection, of which none is looked up yet.
 *
 * @throws VaultError VAULT_UNKNOWN_INSTANCE
 */
export function connectionAddresses(
  networkName: string,
  networkConfig: NetworkConfig,
  deployment: DeploymentAddresses | undefined,
  instance?: InstanceOfNetwork,
): ConnectionAddresses {
  let bound: AddressBook | undefined;
  let upstream: AddressBook | undefined;
  const path = `networks.${networkName}.vault${instance === undefined ? "" : `.instances.${instance.name}`}.contracts`;
  const own = configuredAddresses(
    path,
    settingsOf(networkName, networkConfig, instance?.name),
  );
  const configured =
    instance === undefined ? own : orElse(own, instance.network.locateNamed);
  const deployed: AddressBook = async (role) => {
    const found = await deployment?.find(role);
    return (
      found ?? {
        path: `${path}.${role}`,
        hint: `${orCallAt(role)} ${describeAbsence(networkConfig, deployment)}`,
      }
    );
  };
  const locateNamed: AddressBook = async (role) =>
    await orElse(bound, orElse(upstream, configured))(role);
  return {
    locate: async (role) => {
      const found = await orElse(locateNamed, deployed)(role);
      return isLocated(found) || upstream === undefined
        ? found
        : await upstream(role);
    },
    locateNamed,
    bind: (addresses) => {
      bound = addresses;
    },
    follow: (addresses) => {
      upstream = addresses;
    },
  };
}

/**
 * The settings of a network, or of an instance on it.
 *
 * @throws VaultError VAULT_UNKNOWN_INSTANCE
 */
export function settingsOf(
  networkName: string,
  { vault }: NetworkConfig,
  instance: string | undefined,
): VaultInstanceConfig {
  if (instance === undefined) {
    return vault;
  }
  const { instances } = vault;
  const settings = Object.hasOwn(instances, instance)
    ? instances[instance]
    : undefined;
  if (settings === undefined) {
    throw vaultError("VAULT_UNKNOWN_INSTANCE", {
      network: networkName,
      instance: describeInput(instance),
      known: listNames(Object.keys(instances)),
    });
  }
  return settings;
}

/**
 * The addresses that the configuration names, whatever is bound. When asked:
 *
 * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE
 */
function configuredAddresses(
  path: string,
  { contracts }: VaultInstanceConfig,
): AddressBook {
  return async (role) => {
    const source = `${path}.${role}`;
    const configured = contracts[role];
    if (configured === undefined) {
      return { path: source, hint: orCallAt(role) };
    }
    let value: string;
    try {
      value = await configured.get();
    } catch (error) {
      throw toConfigVariableError(error, source);
    }
    // A variable may hold a secret by mistake.
    const shown = "the configured value";
    return { address: parseAddress(value, source, shown), source };
  };
}

function describeAbsence(
  { type }: NetworkConfig,
  deployment: DeploymentAddresses | undefined,
): string {
  if (type !== "http") {
    return "An in-process network starts empty: choose another one with `--network <name>`, or call deployMocks() first.";
  }
  if (deployment === undefined) {
    return "What deploy-mocks wrote to vault-deployments/ is not used here: to check it, the network would have to be asked.";
  }
  return deployment.describeAbsence();
}

function listNames(names: readonly string[]): string {
  return names.length === 0 ? "there is none" : names.join(", ");
}

import type { NetworkConfig } from "hardhat/types/config";

import { inOrder } from "../client/addresses.js";
import type { AddressResolver } from "../client/addresses.js";
import { describeInput, parseAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { toConfigVariableError } from "../rpc/errors.js";
import type { VaultInstanceConfig } from "./config-types.js";
import type { DeploymentAddresses } from "./deployments.js";

/** The addresses of a connection, or of an instance on it. */
export interface ConnectionAddresses {
  /** Finds bound, then configured ones, then those that deploy-mocks left. */
  readonly locate: AddressResolver;
  /** Leaves out the last ones, which instances do not share. */
  readonly locateNamed: AddressResolver;
  /** From now on these come first, in the place of those bound before. */
  bind(addresses: AddressResolver): void;
}

/** @param deployed Looked at after those, where instances do not look. */
export function bindableAddresses(
  configured: AddressResolver,
  deployed?: AddressResolver,
): ConnectionAddresses {
  let named = configured;
  const locateNamed: AddressResolver = async (role) => await named(role);
  return {
    locate:
      deployed === undefined ? locateNamed : inOrder(locateNamed, deployed),
    locateNamed,
    bind: (bound) => {
      named = inOrder(bound, configured);
    },
  };
}

/** One of the sets of contracts on a network. */
export interface InstanceOfNetwork {
  readonly name: string;
  /** Locates the contracts that the instance omits. */
  readonly network: Pick<ConnectionAddresses, "locateNamed">;
}

/**
 * The addresses of a connection, of which none is looked up yet.
 *
 * @throws VaultError VAULT_UNKNOWN_INSTANCE
 */
export function connectionAddresses(
  networkName: string,
  networkConfig: NetworkConfig,
  deployments: (() => Promise<DeploymentAddresses>) | undefined,
  instance?: InstanceOfNetwork,
): ConnectionAddresses {
  const path = `networks.${networkName}.vault${instance === undefined ? "" : `.instances.${instance.name}`}.contracts`;
  const configured = configuredAddresses(
    path,
    settingsOf(networkName, networkConfig, instance?.name),
  );
  const deployed: AddressResolver = async (role) => {
    const mocks = await deployments?.();
    return (
      (await mocks?.find(role)) ?? {
        path: `${path}.${role}`,
        // Known once the mocks were looked for.
        hint: describeAbsence(networkConfig, mocks),
      }
    );
  };
  return bindableAddresses(
    instance === undefined
      ? configured
      : inOrder(configured, instance.network.locateNamed),
    deployed,
  );
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
  const names = Object.keys(instances);
  const settings = instances[instance];
  if (settings === undefined || !names.includes(instance)) {
    throw vaultError("VAULT_UNKNOWN_INSTANCE", {
      network: networkName,
      instance: describeInput(instance),
      known: names.length === 0 ? "there is none" : names.join(", "),
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
): AddressResolver {
  return async (role) => {
    const source = `${path}.${role}`;
    const configured = contracts[role];
    if (configured === undefined) {
      return { path: source, hint: "" };
    }
    const value = await configured.get().catch((error: unknown) => {
      throw toConfigVariableError(error, source);
    });
    // A variable may hold a secret by mistake.
    const address = parseAddress(value, source, "the configured value");
    return { address, source };
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

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
  readonly locate: AddressResolver;
  /** Leaves out what deploy-mocks left, which instances do not share. */
  readonly locateNamed: AddressResolver;
  /** Puts these first, in the place of those bound before. */
  bind(addresses: AddressResolver): void;
}

/**
 * Looks for addresses that are bound, then configured ones, those of the network
 * for what an instance omits, then those that deploy-mocks left.
 *
 * @param sources `upstream`: has the addresses of a fork, in place of all these.
 * @throws VaultError VAULT_UNKNOWN_INSTANCE and, when asked,
 * VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE
 */
export function connectionAddresses(
  networkName: string,
  networkConfig: NetworkConfig,
  sources: {
    readonly instance?: string | undefined;
    readonly network?: ConnectionAddresses | undefined;
    readonly upstream?: AddressResolver | undefined;
    readonly deployments?: (() => Promise<DeploymentAddresses>) | undefined;
  } = {},
): ConnectionAddresses {
  const { instance, network, upstream, deployments } = sources;
  const { contracts } = settingsOf(networkName, networkConfig, instance);
  const path = `networks.${networkName}.vault${instance === undefined ? "" : `.instances.${instance}`}.contracts`;
  const configured: AddressResolver = async (role) => {
    const source = `${path}.${role}`;
    const value = await contracts[role]?.get().catch((error: unknown) => {
      throw toConfigVariableError(error, source);
    });
    if (value === undefined) {
      return { path: source, hint: "" };
    }
    // A variable may hold a secret by mistake.
    const address = parseAddress(value, source, "the configured value");
    return { address, source };
  };
  const deployed: AddressResolver = async (role) => {
    const mocks = await deployments?.();
    return (
      (await mocks?.find(role)) ?? {
        path: `${path}.${role}`,
        // Known once the mocks were looked for.
        hint:
          mocks?.describeAbsence() ??
          (networkConfig.type === "http"
            ? "What deploy-mocks wrote to vault-deployments/ is not used here: to check it, the network would have to be asked."
            : "An in-process network starts empty: choose another one with `--network <name>`, or call deployMocks() first."),
      }
    );
  };
  const own =
    upstream ??
    (instance === undefined
      ? configured
      : inOrder(
          configured,
          (network ?? connectionAddresses(networkName, networkConfig))
            .locateNamed,
        ));
  let named = own;
  const locateNamed: AddressResolver = async (role) => await named(role);
  return {
    locate:
      upstream === undefined ? inOrder(locateNamed, deployed) : locateNamed,
    locateNamed,
    bind: (bound) => {
      named = inOrder(bound, own);
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

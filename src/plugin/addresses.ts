import type { NetworkConfig } from "hardhat/types/config";

import { isLocated, orElse } from "../client/addresses.js";
import type { AddressBook } from "../client/addresses.js";
import { parseAddress } from "../client/inputs.js";
import { toConfigVariableError } from "../rpc/request.js";
import type { DeploymentAddresses } from "./deployments.js";

/** Where a connection finds addresses. */
export interface ConnectionAddresses {
  /**
   * Mocks that were bound to it, then (on a fork) where the forked network has
   * the contracts, then the configuration, then what `vault deploy-mocks` left
   * behind.
   */
  readonly locate: AddressBook;
  /** The same without what is bound: where production has the contracts. */
  readonly locateUnbound: AddressBook;
  /** From now on these addresses come first. */
  bind(addresses: AddressBook): void;
  /** This connection is a fork: what is not bound is where it is upstream. */
  follow(upstream: AddressBook): void;
}

/** The addresses of a connection, of which none is looked up yet. */
export function connectionAddresses(
  networkName: string,
  networkConfig: NetworkConfig,
  deployment: DeploymentAddresses | undefined,
): ConnectionAddresses {
  let bound: AddressBook | undefined;
  let upstream: AddressBook | undefined;
  const configured = configuredAddresses(networkName, networkConfig);
  const deployed: AddressBook = async (role) => {
    const found = await deployment?.find(role);
    return (
      found ?? {
        path: pathOf(networkName, role),
        hint: ` in the Hardhat configuration, or pass --at ${role}=0x…. ${describeAbsence(networkConfig, deployment)}`,
      }
    );
  };
  return {
    locate: async (role) => {
      const own = orElse(configured, deployed);
      const found = await orElse(bound, orElse(upstream, own))(role);
      return isLocated(found) || upstream === undefined
        ? found
        : await upstream(role);
    },
    locateUnbound: async (role) => await orElse(upstream, configured)(role),
    bind: (addresses) => {
      bound = addresses;
    },
    follow: (addresses) => {
      upstream = addresses;
    },
  };
}

/**
 * The addresses that the configuration names, whatever is bound. When asked:
 *
 * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE
 */
function configuredAddresses(
  networkName: string,
  { vault }: NetworkConfig,
): AddressBook {
  return async (role) => {
    const path = pathOf(networkName, role);
    const configured = vault.contracts[role];
    if (configured === undefined) {
      return { path, hint: "." };
    }
    let value: string;
    try {
      value = await configured.get();
    } catch (error) {
      throw toConfigVariableError(error, path);
    }
    // What is written in the configuration has been validated, so a mistake is
    // in a variable, and variables also hold secrets.
    const shown = "the value of its configuration variable";
    return { address: parseAddress(value, path, shown), source: path };
  };
}

function describeAbsence(
  { type }: NetworkConfig,
  deployment: DeploymentAddresses | undefined,
): string {
  if (type !== "http") {
    return "An in-process network starts empty: call deployMocks() first, or choose another network with --network.";
  }
  if (deployment === undefined) {
    return "What deploy-mocks wrote to vault-deployments/ is not used here: to check it, the network would have to be asked.";
  }
  return (
    deployment.describeAbsence() ??
    "For a local node, `npx hardhat vault deploy-mocks` deploys mocks."
  );
}

function pathOf(networkName: string, role: string): string {
  return `networks.${networkName}.vault.contracts.${role}`;
}

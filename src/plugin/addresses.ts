import type {
  HardhatUserConfig,
  NetworkConfig,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import { firstOf } from "../client/addresses.js";
import type { AddressResolver, LocatedAddress } from "../client/addresses.js";
import { describeInput, parseAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { ContractRole } from "../protocol/index.js";
import { toConfigVariableError } from "../rpc/errors.js";
import type { VaultInstanceConfig } from "./config-types.js";
import type { DeploymentAddresses } from "./deployments.js";

export interface ConnectionAddresses {
  readonly locate: AddressResolver;
  /** Omits the mocks of deploy-mocks, which instances do not inherit. */
  readonly locateWithoutMocks: AddressResolver;
  /** Puts these addresses first, and drops those bound before. */
  bind(addresses: AddressResolver): void;
}

/**
 * Resolves an address from these sources, in this order: bound addresses, the
 * configuration (of the instance, then of the network), mocks of deploy-mocks.
 *
 * @param sources `upstream`: addresses of a fork, instead of configuration and mocks.
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
  const pathOf = (role: ContractRole): string =>
    `${settingsPath(networkName, instance)}.contracts.${role}`;
  const configured: AddressResolver = async (role) => {
    const path = pathOf(role);
    const address = contracts[role];
    return address === undefined
      ? { path, hint: "" }
      : await resolveAddress(address, path);
  };
  const deployed: AddressResolver = async (role) => ({
    path: pathOf(role),
    ...(deployments === undefined
      ? {
          hint:
            networkConfig.type === "http"
              ? "Mocks of vault-deployments/ are not used here, because checking them needs requests to the network."
              : `Network ${networkName} is in this process and starts empty: pass --network to a task, or call deployMocks() in code.`,
        }
      : await (await deployments()).find(role)),
  });
  const own =
    upstream ??
    (instance === undefined
      ? configured
      : firstOf(
          configured,
          (network ?? connectionAddresses(networkName, networkConfig))
            .locateWithoutMocks,
        ));
  let current = own;
  const locateWithoutMocks: AddressResolver = async (role) =>
    await current(role);
  return {
    locate:
      upstream === undefined
        ? firstOf(locateWithoutMocks, deployed)
        : locateWithoutMocks,
    locateWithoutMocks,
    bind: (bound) => {
      current = firstOf(bound, own);
    },
  };
}

function settingsPath(networkName: string, instance?: string): string {
  const path = `networks.${networkName}.vault`;
  return instance === undefined ? path : `${path}.instances.${instance}`;
}

async function resolveAddress(
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

/**
 * Checks the checksum of each address in the text of a network's configuration: a digit may
 * be mistyped. Done for each connection, not at each start of Hardhat, where loading the
 * hash function would take longer than the plugin.
 *
 * @throws VaultError VAULT_INVALID_ADDRESS
 */
export function requireChecksums(
  networkName: string,
  { networks = {} }: HardhatUserConfig,
): void {
  const check = (setting: unknown, path: string): void => {
    // Every text in the settings is an address, except those of a variable.
    if (typeof setting === "string") {
      parseAddress(setting, path);
    } else if (!("_type" in asRecord(setting))) {
      for (const [key, inner] of Object.entries(asRecord(setting))) {
        check(inner, `${path}.${key}`);
      }
    }
  };
  check(networks[networkName]?.vault, settingsPath(networkName));
}

/**
 * @returns Undefined if settlements go to the vault itself.
 * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE
 */
export async function configuredGuard(
  networkName: string,
  networkConfig: NetworkConfig,
  instance: string | undefined,
): Promise<LocatedAddress | undefined> {
  const { guard } = settingsOf(networkName, networkConfig, instance);
  return guard === undefined || guard === false
    ? undefined
    : await resolveAddress(
        guard,
        `${settingsPath(networkName, instance)}.guard`,
      );
}

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
      known: names.length === 0 ? "none" : names.join(", "),
    });
  }
  return settings;
}

import type {
  ConfigurationVariableResolver,
  HardhatUserConfig,
  NetworkConfig,
} from "hardhat/types/config";
import type {
  ConfigHooks,
  HardhatUserConfigValidationError,
} from "hardhat/types/hooks";

import { asRecord } from "../json.js";
import { isContractRole } from "../protocol/index.js";
import { FORK_NETWORK } from "../host.js";
import type {
  VaultInstanceConfig,
  VaultInstanceUserConfig,
  VaultNetworkConfig,
  VaultNetworkUserConfig,
} from "./config-types.js";

/** Hardhat runs these hooks at every start and for every connection with overrides. */
export default async (): Promise<Partial<ConfigHooks>> =>
  await Promise.resolve({
    extendUserConfig,
    validateUserConfig,
    resolveUserConfig,
  });

/** Adds the network that forks are made with, unless the user defines it. */
async function extendUserConfig(
  userConfig: HardhatUserConfig,
  next: (nextUserConfig: HardhatUserConfig) => Promise<HardhatUserConfig>,
): Promise<HardhatUserConfig> {
  const extended = await next(userConfig);
  const networks: unknown = extended.networks ?? {};
  // Anything but an object is left to the validation.
  return typeof networks === "object"
    ? {
        ...extended,
        networks: {
          [FORK_NETWORK]: { type: "edr-simulated" },
          ...extended.networks,
        },
      }
    : extended;
}

async function validateUserConfig(
  userConfig: HardhatUserConfig,
): Promise<HardhatUserConfigValidationError[]> {
  const errors: HardhatUserConfigValidationError[] = [];
  // Not validated yet, so the types may be wrong.
  for (const [name, network] of Object.entries(asRecord(userConfig.networks))) {
    const { vault } = asRecord(network);
    if (vault !== undefined) {
      // Needs zod, which a start without settings does not.
      const { validateVaultSettings } = await import("./validate-settings.js");
      errors.push(...validateVaultSettings(vault, ["networks", name, "vault"]));
    }
  }
  return errors;
}

async function resolveUserConfig(
  userConfig: HardhatUserConfig,
  resolveConfigurationVariable: ConfigurationVariableResolver,
  next: (
    nextUserConfig: HardhatUserConfig,
    nextResolveConfigurationVariable: ConfigurationVariableResolver,
  ) => ReturnType<ConfigHooks["resolveUserConfig"]>,
): ReturnType<ConfigHooks["resolveUserConfig"]> {
  const resolvedConfig = await next(userConfig, resolveConfigurationVariable);
  const networks: Record<string, NetworkConfig> = {};
  // Hardhat's own resolver drops unknown keys of networks.
  for (const [name, network] of Object.entries(resolvedConfig.networks)) {
    networks[name] = {
      ...network,
      vault: resolveVaultNetworkConfig(
        userConfig.networks?.[name]?.vault,
        resolveConfigurationVariable,
      ),
    };
  }
  const fork = networks[FORK_NETWORK];
  const { forking } = asRecord(userConfig.networks?.[FORK_NETWORK]);
  const { cacheDir } = asRecord(forking);
  if (
    fork?.type === "edr-simulated" &&
    fork.forking !== undefined &&
    typeof cacheDir === "string"
  ) {
    fork.forking.cacheDir = cacheDir;
  }
  return { ...resolvedConfig, networks };
}

function resolveVaultNetworkConfig(
  { instances = {}, ...network }: VaultNetworkUserConfig = {},
  resolveConfigurationVariable: ConfigurationVariableResolver,
): VaultNetworkConfig {
  const resolveInstance = ({
    contracts,
    guard,
    ...others
  }: VaultInstanceUserConfig): VaultInstanceConfig => {
    const resolved: VaultInstanceConfig["contracts"] = {};
    for (const [role, address] of Object.entries(contracts ?? {})) {
      if (isContractRole(role) && address !== undefined) {
        resolved[role] = resolveConfigurationVariable(address);
      }
    }
    return {
      contracts: resolved,
      ...others,
      ...(guard !== undefined && {
        guard: guard === false ? false : resolveConfigurationVariable(guard),
      }),
    };
  };
  const { contracts: _ownAddresses, ...inherited } = network;
  const inherit = (instance: VaultInstanceUserConfig) => {
    const settings = { ...inherited, ...withoutUndefined(instance) };
    // Another token has other scales: an inherited one would show wrong values.
    const isSameToken = settings.tokenDecimals === inherited.tokenDecimals;
    return resolveInstance({
      ...settings,
      displayDecimals: {
        ...(isSameToken ? inherited.displayDecimals : {}),
        ...withoutUndefined(instance.displayDecimals ?? {}),
      },
    });
  };
  return {
    ...resolveInstance(network),
    instances: Object.fromEntries(
      Object.entries(instances).map(([name, instance]) => [
        name,
        inherit(instance),
      ]),
    ),
  };
}

/** A key that is written out as undefined is inherited, too. */
function withoutUndefined<Settings extends object>(
  settings: Settings,
): Partial<Settings> {
  // the same properties, without some
  return Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  ) as Partial<Settings>;
}

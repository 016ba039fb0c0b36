import type {
  ConfigurationVariable,
  ConfigurationVariableResolver,
  HardhatUserConfig,
  NetworkConfig,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";
import type {
  ConfigHooks,
  HardhatUserConfigValidationError,
} from "hardhat/types/hooks";

import { FORK_NETWORK } from "../host.js";
import type { SettlementSettings } from "../host.js";
import { asRecord } from "../json.js";
import type {
  ContractRole,
  DisplayDecimals,
  DisplaySettings,
} from "../protocol/index.js";

export type { SettlementSettings };

/** Settings of one instance of the protocol on a network. */
export interface VaultInstanceUserConfig extends SettlementSettings {
  /** Addresses of the contracts by role. */
  contracts?: {
    [Role in ContractRole]?: string | ConfigurationVariable | undefined;
  };
  /**
   * Address of a RoundGuard contract that settlements go through. Default, or false:
   * `settleAll` is called directly.
   */
  guard?: string | ConfigurationVariable | false | undefined;
  /** Decimals of token amounts ("token precision"). Default: amounts are shown unscaled. */
  tokenDecimals?: number | undefined;
  /**
   * Decimals of values whose scale the protocol does not document, by reading
   * (`pools`) or by value (`"order.openPrice"`). For display only: JSON and the
   * API stay unscaled.
   */
  displayDecimals?: DisplayDecimals | undefined;
}

/** `vault` of a network in the Hardhat configuration. */
export interface VaultNetworkUserConfig extends VaultInstanceUserConfig {
  /**
   * More instances on this network, by name, for `--instance` and
   * `vault.instance()`. An instance inherits the settings that it omits, but
   * `displayDecimals` only if it has the same `tokenDecimals`.
   */
  instances?: { [name: string]: VaultInstanceUserConfig };
}

/** Resolved settings of an instance, with the decimals that it inherits. */
export interface VaultInstanceConfig
  extends DisplaySettings, SettlementSettings {
  contracts: { [Role in ContractRole]?: ResolvedConfigurationVariable };
  guard?: ResolvedConfigurationVariable | false | undefined;
}

/** Resolved settings of a network. */
export interface VaultNetworkConfig extends VaultInstanceConfig {
  instances: { [name: string]: VaultInstanceConfig };
}

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
  return {
    ...extended,
    networks: {
      [FORK_NETWORK]: { type: "edr-simulated" },
      ...extended.networks,
    },
  };
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
      vault: resolveSettings(
        userConfig.networks?.[name]?.vault ?? {},
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

/** Resolves the settings of a network and of its instances, which inherit them. */
function resolveSettings(
  { instances = {}, ...network }: VaultNetworkUserConfig,
  resolveVariable: ConfigurationVariableResolver,
): VaultNetworkConfig {
  const resolve = ({
    contracts = {},
    guard,
    ...others
  }: VaultInstanceUserConfig): VaultInstanceConfig => ({
    contracts: Object.fromEntries(
      Object.entries(contracts).flatMap(([role, address]) =>
        address === undefined ? [] : [[role, resolveVariable(address)]],
      ),
    ),
    ...others,
    ...(guard !== undefined && {
      guard: guard === false ? false : resolveVariable(guard),
    }),
  });
  const { contracts: _ownAddresses, displayDecimals, ...inherited } = network;
  const inherit = (instance: VaultInstanceUserConfig): VaultInstanceConfig => {
    const settings = { ...inherited, ...withoutUndefined(instance) };
    // Another token has other scales: an inherited one would show wrong values.
    const isSameToken = settings.tokenDecimals === inherited.tokenDecimals;
    return resolve({
      ...settings,
      displayDecimals: {
        ...(isSameToken ? displayDecimals : {}),
        ...withoutUndefined(instance.displayDecimals ?? {}),
      },
    });
  };
  return {
    ...resolve(network),
    instances: Object.fromEntries(
      Object.entries(instances).map(([name, one]) => [name, inherit(one)]),
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

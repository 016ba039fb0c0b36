import type {
  ConfigurationVariable,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import type {
  ContractRole,
  DisplayDecimals,
  DisplaySettings,
} from "../protocol/index.js";

/** Settings of one instance of the protocol on a network. */
export interface VaultInstanceUserConfig {
  /** Addresses of the contracts by role. */
  contracts?: {
    [Role in ContractRole]?: string | ConfigurationVariable | undefined;
  };
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
   * `vault.instance()`. An instance inherits the settings that it omits.
   */
  instances?: { [name: string]: VaultInstanceUserConfig };
}

/** Resolved settings of an instance, with the decimals that it inherits. */
export interface VaultInstanceConfig extends DisplaySettings {
  contracts: { [Role in ContractRole]?: ResolvedConfigurationVariable };
}

/** Resolved settings of a network. */
export interface VaultNetworkConfig extends VaultInstanceConfig {
  instances: { [name: string]: VaultInstanceConfig };
}

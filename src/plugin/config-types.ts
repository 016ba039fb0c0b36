import type {
  ConfigurationVariable,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import type {
  ContractRole,
  DisplayDecimals,
  DisplaySettings,
} from "../protocol/index.js";
import type { SettlementSettings } from "../protocol/settlement-settings.js";

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

import type {
  ConfigurationVariable,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import type {
  ContractRole,
  DisplayDecimals,
  DisplaySettings,
} from "../protocol/index.js";

/** Settings of one set of contracts on a network. */
export interface VaultInstanceUserConfig {
  /** Addresses of the protocol's contracts on this network. */
  contracts?: {
    [Role in ContractRole]?: string | ConfigurationVariable | undefined;
  };
  /**
   * The protocol's "token precision": how many decimals token amounts have.
   * Unset, they are shown as the raw integers of the wire.
   */
  tokenDecimals?: number | undefined;
  /**
   * Decimals of values whose scale the protocol does not give and you know: of a
   * reading, as in `pools`, or of one of its values, as in `"order.openPrice"`.
   * For display only: JSON and the API stay unscaled.
   */
  displayDecimals?: DisplayDecimals | undefined;
}

/** `vault` of a network in the Hardhat configuration. */
export interface VaultNetworkUserConfig extends VaultInstanceUserConfig {
  /**
   * More sets of contracts on this network, by name, for `--instance` and
   * `vault.instance()`. What one leaves out is as it is without.
   */
  instances?: { [name: string]: VaultInstanceUserConfig };
}

/** A set of contracts as resolved; an instance has the scales that it inherits. */
export interface VaultInstanceConfig extends DisplaySettings {
  contracts: { [Role in ContractRole]?: ResolvedConfigurationVariable };
}

/** `vault` of a network as resolved. */
export interface VaultNetworkConfig extends VaultInstanceConfig {
  instances: { [name: string]: VaultInstanceConfig };
}

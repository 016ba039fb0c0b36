import type {
  ConfigurationVariable,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import type { ContractRole } from "../protocol/index.js";

/** `vault` of a network in the Hardhat configuration. */
export interface VaultNetworkUserConfig {
  /** Addresses of the protocol's contracts on this network. */
  contracts?: {
    [Role in ContractRole]?: string | ConfigurationVariable | undefined;
  };
  /**
   * The protocol's "token precision": how many decimals token amounts have.
   * Unset, they are shown as the raw integers of the wire.
   */
  tokenDecimals?: number;
}

/** `vault` of a network as resolved. */
export interface VaultNetworkConfig {
  contracts: { [Role in ContractRole]?: ResolvedConfigurationVariable };
  tokenDecimals?: number;
}

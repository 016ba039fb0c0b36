import type { HardhatVault } from "./plugin/hardhat-vault.js";
import type { LazyHardhatVault } from "./plugin/lazy-hardhat-vault.js";
import type {
  VaultNetworkConfig,
  VaultNetworkUserConfig,
} from "./plugin/config.js";

// The plugin loads hardhat-ethers, so its users need those types too.
export type * from "@nomicfoundation/hardhat-ethers";

declare module "hardhat/types/config" {
  interface HttpNetworkUserConfig {
    vault?: VaultNetworkUserConfig;
  }
  interface EdrNetworkUserConfig {
    vault?: VaultNetworkUserConfig;
  }
  interface HttpNetworkConfig {
    vault: VaultNetworkConfig;
  }
  interface EdrNetworkConfig {
    vault: VaultNetworkConfig;
  }
}

declare module "hardhat/types/network" {
  interface NetworkConnection<
    // Repeated, since an interface is extended with its parameters.
    ChainTypeT extends ChainType | string = DefaultChainType,
  > {
    /** The protocol's contracts on this connection. */
    vault: HardhatVault;
  }
}

declare module "hardhat/types/hre" {
  interface HardhatRuntimeEnvironment {
    /**
     * The protocol's contracts on the connection of `hre.network.getOrCreate()`,
     * opened on first use. Each `hre.network.create()` has a chain of its own, with
     * its `connection.vault`.
     */
    vault: LazyHardhatVault;
  }
}

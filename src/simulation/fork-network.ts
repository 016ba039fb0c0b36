/**
 * In-process network for forks, registered by the plugin. The user may have configured
 * `default` as an HTTP network: Hardhat would then silently open the live chain.
 */
export const FORK_NETWORK = "vaultFork";

/**
 * The in-process network that forks are made with, registered by the plugin.
 * A network of our own, because `default` may be an HTTP network of the user's,
 * and Hardhat would open that one, live, without a word.
 */
export const FORK_NETWORK = "vaultFork";

import type { HookContext } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import type { AddressResolver, LocatedAddress } from "./client/addresses.js";
import type { VaultClient } from "./client/vault-client.js";
import type { DisplaySettings } from "./protocol/index.js";
import type { Eip1193Provider } from "./rpc/eip1193.js";
import type { SettlementSettings } from "./protocol/settlement-settings.js";

/**
 * In-process network for forks, registered by the plugin. The user may have configured
 * `default` as an HTTP network: Hardhat would then silently open the live chain.
 */
export const FORK_NETWORK = "vaultFork";

/**
 * The parts of `HardhatVault` that settlement and simulation use. They do not
 * import `HardhatVault`, so that imports run one way.
 */
export interface VaultHost extends VaultClient {
  /** The connection of all requests, with the network's settings. */
  readonly connection: NetworkConnection<ChainType | string>;
  /** @internal */
  readonly context: HookContext;
  /** @internal Decimals of this instance's amounts, for display. */
  readonly settings: DisplaySettings;
  /** @internal Limits of this instance's settlements. */
  readonly settlementSettings: SettlementSettings;
  /** @internal Address of the configured guard, whose code is not checked. */
  guardAddress(): Promise<LocatedAddress | undefined>;
  /** @internal Finds the network's `from`, else its first account. */
  defaultSender(): Promise<string>;
  /** Name of the instance; undefined for the network's own contracts. */
  readonly instanceName: string | undefined;
  /** @internal Puts addresses before those of the connection's vault. */
  bind(addresses: AddressResolver): void;
  /** Returns the vault of another instance on the same network. */
  instance(name: string): VaultHost;
  /**
   * @internal Gives a fork a vault with the addresses of this network, which asks this
   * provider.
   */
  adoptFork(
    fork: NetworkConnection<ChainType | string>,
    provider: Eip1193Provider,
    upstream?: UpstreamAddresses,
  ): void;
}

/** Returns the addresses of an instance; of the network itself for undefined. */
export type UpstreamAddresses = (
  instance: string | undefined,
) => AddressResolver | undefined;

export function hasHost(vault: VaultClient): vault is VaultHost {
  return "connection" in vault;
}

export function isInProcess(vault: VaultClient): vault is VaultHost {
  return (
    hasHost(vault) && vault.connection.networkConfig.type === "edr-simulated"
  );
}

/** Most gas of a transaction; undefined if the configuration sets none. */
export function configuredGasCap({
  connection: { networkConfig },
}: VaultHost): bigint | undefined {
  const cap =
    networkConfig.type === "edr-simulated" && networkConfig.transactionGasCap;
  return typeof cap === "bigint" ? cap : undefined;
}

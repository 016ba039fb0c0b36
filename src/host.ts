import type { HookContext } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import type { AddressResolver, LocatedAddress } from "./client/contracts.js";
import type { VaultClient } from "./client/vault-client.js";
import type { DisplaySettings } from "./protocol/index.js";

/**
 * In-process network for forks, registered by the plugin. The user may have configured
 * `default` as an HTTP network: Hardhat would then silently open the live chain.
 */
export const FORK_NETWORK = "vaultFork";

/** Settings of a settlement that need no resolving. */
export interface SettlementSettings {
  /**
   * Highest `maxFeePerGas` of a settlement, a guard or mocks in wei; on legacy chains the
   * highest `gasPrice`. Above it nothing is sent. Default: no limit.
   */
  maxFeePerGasLimit?: bigint | undefined;
  /** Highest `maxPriorityFeePerGas` of them in wei. Default: no limit. */
  maxPriorityFeePerGasLimit?: bigint | undefined;
  /**
   * Milliseconds after which a settlement that is not mined is replaced at a higher fee, up
   * to `maxFeePerGasLimit`, which it needs. Default: never.
   */
  timeBeforeBumpingFees?: number | undefined;
  /** Highest number of such replacements. Default: 4. */
  maxFeeBumps?: number | undefined;
  /**
   * Blocks that must hold a settlement, its own included. Default: 3; 1 on a development
   * node, in process, and if `maxHeadAge` is false.
   */
  confirmations?: number | undefined;
  /**
   * Highest age of the newest block in seconds; a settlement on older state is refused.
   * Default: 300. False switches the check off.
   */
  maxHeadAge?: number | false | undefined;
  /**
   * ERC-20 tokens that the vault pays to whoever settles: a guard forwards these, and no
   * others. An empty list names none. Default: not known.
   */
  tokens?: readonly string[] | undefined;
}

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
  readonly display: DisplaySettings;
  /** @internal Settings of this instance, of which settlements use these. */
  readonly settings: SettlementSettings;
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
  /** @internal Gives a fork of this network a vault that names this network in errors. */
  adoptFork(fork: NetworkConnection<ChainType | string>): void;
}

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

/** Where the configuration has the settings of a vault, for error texts. */
export function settingsPath(networkName: string, instance?: string): string {
  // A fork has the settings of its network.
  const path = `networks.${networkName.replace(" (fork)", "")}.vault`;
  return instance === undefined ? path : `${path}.instances.${instance}`;
}

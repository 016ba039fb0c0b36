import type { HookContext } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import type { AddressResolver } from "./client/addresses.js";
import type { OperationOptions } from "./client/reader.js";
import type { VaultClient } from "./client/vault-client.js";
import type { DisplaySettings } from "./protocol/index.js";

/**
 * A client, and what settlement and simulation need of Hardhat. They never name
 * the vault that has them as methods, so that imports run one way.
 */
export interface VaultHost extends VaultClient {
  /** The connection that everything goes over, with the network's settings. */
  readonly connection: NetworkConnection<ChainType | string>;
  /** @internal The project's configuration, and the networks that it can open. */
  readonly context: HookContext;
  /** @internal Scales of the amounts of this set of contracts, for display. */
  readonly settings: DisplaySettings;
  /**
   * The account that settles by default: the network's `from`, else its first
   * account.
   *
   * @internal
   */
  defaultSender(): Promise<string>;
  /** The name of this set of contracts, where it is not the network's own. */
  readonly instanceName: string | undefined;
  /** @internal From now on the connection's vault looks here first. */
  bind(addresses: AddressResolver): void;
  /** @internal See {@link VaultClient.withDeadline}; what sends is sent once. */
  withDeadline(options: OperationOptions): VaultHost;
  /** Another set of contracts on the same network. */
  instance(name: string): VaultHost;
  /**
   * Gives a fork of this network its vault, which finds its contracts where
   * they are upstream.
   *
   * @internal
   */
  adoptFork(
    fork: NetworkConnection<ChainType | string>,
    upstream: UpstreamAddresses,
  ): void;
}

/** The addresses of a network, and by name those of its instances. */
export type UpstreamAddresses = (
  instance: string | undefined,
) => AddressResolver | undefined;

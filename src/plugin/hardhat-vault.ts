import { ZeroAddress } from "ethers";
import type { ContractRunner } from "ethers";
import type { NetworkConfig } from "hardhat/types/config";
import type { HookContext } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import type { AddressResolver, LocatedAddress } from "../client/contracts.js";
import type { ErrorAbisOf } from "../rpc/revert-reason.js";
import { parseAddress } from "../client/inputs.js";
import { fallbackTo, withCallerStack } from "../errors.js";
import { VaultClient } from "../client/vault-client.js";
import type {
  DeployMocksOptions,
  MockAtOptions,
} from "../mocks/deploy-mocks.js";
import type { MockVaultHandle as MockHandle } from "../mocks/handle.js";
import { settingsPath } from "../host.js";
import type { VaultHost } from "../host.js";
import type { Redactor } from "../foreign-text.js";
import { KnownNode } from "../rpc/known-node.js";
import { DEFAULT_TIMEOUT_MS, RpcClient } from "../rpc/rpc-client.js";
import type { ContractRole, DisplaySettings } from "../protocol/index.js";
import type { SettleAllOptions, Settlement } from "../settlement/options.js";
import type { ForkConnection, ForkOptions } from "../simulation/fork.js";
import type { SimulateSettleAllOptions } from "../simulation/simulate.js";
import type { Simulation } from "../simulation/types.js";
import {
  DeploymentAddresses,
  configuredAddresses,
  connectionAddresses,
  mockScales,
  resolveAddress,
  requireInstance,
} from "./addresses.js";
import type { ConnectionAddresses } from "./addresses.js";
import type { VaultInstanceConfig } from "./config.js";
import { errorAbisInProject } from "./project.js";

/** The handle that scripts mocks; its `vault` is bound to them. */
export type MockVaultHandle<VaultT extends VaultClient = HardhatVault> =
  MockHandle<VaultT>;

/** The parts that all vaults on one connection share. */
interface ConnectionParts extends Pick<
  HardhatVault,
  "connection" | "context" | "networkName" | "rpc"
> {
  readonly errorAbisOf: ErrorAbisOf;
  /** The vaults of the instances by name; undefined is the network's own. */
  readonly vaults: Map<string | undefined, HardhatVault>;
}

/** Kept: to find a loaded module again takes a tenth of a simulation's own work. */
let simulating: Promise<typeof import("../simulation/simulate.js")> | undefined;
let signing: Promise<typeof import("../sending/signer.js")> | undefined;

/**
 * `connection.vault`: a {@link VaultClient} with the addresses of the Hardhat
 * configuration that can also settle, simulate a settlement and deploy mocks.
 */
export class HardhatVault extends VaultClient implements VaultHost {
  public readonly connection: NetworkConnection<ChainType | string>;
  /** @internal */
  public readonly context: HookContext;
  /** Of the mocks that deploy-mocks recorded; none before {@link useScalesOfMocks}. */
  private scales: DisplaySettings = {};

  /** The addresses without those of `at()`. */
  private readonly ownAddresses: ConnectionAddresses;
  /** @internal Undefined on an in-process network, where nothing persists. */
  public readonly deployments: DeploymentAddresses | undefined;

  private constructor(
    private readonly shared: ConnectionParts,
    public readonly instanceName: string | undefined,
  ) {
    const { connection, context, networkName, rpc, errorAbisOf } = shared;
    const { networkConfig, provider } = connection;
    const { root } = context.config.paths;
    const deployments =
      networkConfig.type === "http"
        ? new DeploymentAddresses(rpc, root, instanceName)
        : undefined;
    const addresses = connectionAddresses(
      configuredAddresses(networkName, networkConfig, instanceName),
      shared.vaults.get(undefined)?.ownAddresses,
      async () =>
        (await deployments?.find()) ??
        `Network ${networkName} is in this process: pass --network to a task, or call deployMocks() in code.`,
    );
    super(provider, addresses.locate, { rpc, errorAbisOf });
    this.connection = connection;
    this.context = context;
    this.ownAddresses = addresses;
    this.deployments = deployments;
    shared.vaults.set(instanceName, this);
  }

  /**
   * @param redactor Knows the secrets of the connection.
   * @param networkName Name of the network in error texts.
   * @internal
   */
  public static forConnection(
    connection: NetworkConnection<ChainType | string>,
    context: HookContext,
    redactor: Redactor,
    networkName = connection.networkName,
  ): HardhatVault {
    const { provider } = connection;
    const parts = {
      connection,
      context,
      networkName,
      rpc: new RpcClient(provider, networkName, new KnownNode(redactor, true)),
      errorAbisOf: errorAbisInProject(context.artifacts),
      vaults: new Map<string | undefined, HardhatVault>(),
    };
    return new HardhatVault(parts, undefined);
  }

  /**
   * Returns the vault of another instance, from `networks.<name>.vault.instances`.
   * It inherits the addresses that it omits, and has its own mocks.
   *
   * @throws VaultError VAULT_INVALID_ARGUMENT
   *
   * @example
   * ```ts
   * await vault.instance("weekly").queryVolume();
   * // 420000000000000000000n
   * ```
   */
  public instance(name: string): HardhatVault {
    const { shared, rpc } = this;
    const vault = shared.vaults.get(name) ?? new HardhatVault(shared, name);
    return rpc === shared.rpc ? vault : vault.copy({ rpc });
  }

  /**
   * Settles the current round with one transaction (`IVault.settleAll`).
   *
   * It reads the round first and again before each send, and sends nothing if the
   * round changed. On an HTTP network it writes a journal to `vault-deployments/`
   * before it sends, from which `resume` continues. It sends without a question,
   * unless you pass `confirm`.
   *
   * @returns The outcome; see `status`. Once a transaction may have been sent,
   * this never throws.
   * @throws VaultError before anything is sent: VAULT_CONTRACT_NOT_CONFIGURED,
   * VAULT_NO_CODE, VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT,
   * VAULT_CONFIG_VARIABLE, VAULT_INVALID_JOURNAL,
   * VAULT_JOURNAL_NOT_WRITTEN and errors of a request
   *
   * @example
   * ```ts
   * const { status, after } = await vault.settleAll();
   * [status, after?.settledPrice];
   * // [ 'settled', 66250000000000000000000n ]
   * ```
   */
  public async settleAll(options: SettleAllOptions = {}): Promise<Settlement> {
    return await withCallerStack(async () => {
      const { runSettlement } = await import("../settlement/settle-all.js");
      return (await runSettlement(this, options)).settlement;
    });
  }

  /**
   * Simulates the settlement of the current round and compares every value
   * before and after. Nothing is sent.
   *
   * Over HTTP the node executes it if it can, else a fork in this process; see
   * `engine` of the result. An in-process network executes it and undoes it: do
   * nothing else on that network meanwhile.
   *
   * @returns The outcome. A contract that reverts is the status `reverted`, and
   * not an exception.
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_CONFIG_VARIABLE,
   * VAULT_NO_CODE, VAULT_INVALID_GUARD, VAULT_NO_SENDER,
   * VAULT_INVALID_ARGUMENT, VAULT_INVALID_ADDRESS, VAULT_INVALID_INTEGER,
   * VAULT_BLOCK_NOT_FOUND, VAULT_ARCHIVE_NODE_NEEDED,
   * VAULT_ENGINE_UNAVAILABLE, VAULT_REORGED,
   * VAULT_MINED_MEANWHILE, with a guard VAULT_RETURN_DATA_MALFORMED, and errors of a
   * request
   *
   * @example
   * ```ts
   * const { changes } = await vault.simulateSettleAll();
   * changes.at(-1);
   * // { reading: 'round', field: 'settled', before: false, after: true }
   * ```
   */
  public async simulateSettleAll(
    options: SimulateSettleAllOptions = {},
  ): Promise<Simulation> {
    simulating ??= import("../simulation/simulate.js");
    const { simulateSettleAll } = await simulating;
    return (await simulateSettleAll(this, options)).simulation;
  }

  /**
   * Forks this HTTP network in process.
   *
   * @returns A connection to the fork, with Hardhat's usual accounts. Its `vault`
   * and `vault.instance()` have the addresses of this network. Close it when done.
   * @throws VaultError VAULT_BLOCK_NOT_FOUND, VAULT_INVALID_ADDRESS,
   * VAULT_INVALID_ARGUMENT, VAULT_ENGINE_UNAVAILABLE, VAULT_REORGED and errors of a
   * request
   *
   * @example
   * ```ts
   * const fork = await vault.fork();
   * (await fork.vault.settleAll()).status;
   * // 'settled'
   * await fork.close();
   * ```
   */
  public async fork(options: ForkOptions = {}): Promise<ForkConnection> {
    const { fork } = await import("../simulation/fork.js");
    return await fork(this, options);
  }

  /**
   * Deploys the six mocks and binds this connection's vault to them.
   *
   * @returns The handle that scripts them; its `vault` stays bound to them.
   * @throws VaultError VAULT_LIVE_NETWORK, VAULT_FEE_LIMIT_NEEDED, VAULT_FEE_ABOVE_LIMIT,
   * VAULT_PENDING_TRANSACTIONS, VAULT_NO_SIGNER, VAULT_UNKNOWN_SIGNER,
   * VAULT_MOCK_SCRIPT_FAILED, VAULT_INVALID_ARGUMENT, VAULT_INVALID_FIXTURE and errors of a
   * request
   *
   * @example
   * ```ts
   * const mocks = await vault.deployMocks();
   * [mocks.scenario, await vault.queryVolume()];
   * // [ 'open-round', 420000000000000000000n ]
   * ```
   */
  public async deployMocks(
    options: DeployMocksOptions = {},
  ): Promise<MockVaultHandle> {
    const { deployMocks } = await import("../mocks/deploy-mocks.js");
    return await deployMocks(this, options);
  }

  /**
   * Replaces one contract by a mock, on a fork or in process. The other contracts
   * stay real.
   *
   * The mock returns what the replaced contract returned. Values that cannot be
   * read, and all orders, are those of the scenario `open-round`.
   *
   * @returns A handle. Its methods for other contracts throw VAULT_NOT_A_MOCK.
   * @throws VaultError VAULT_LIVE_NETWORK unless the network is in process, anvil
   * or `hardhat node`; VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_ARGUMENT
   * and errors of a request
   *
   * @example
   * ```ts
   * const mocks = await vault.mockAt("trading");
   * await mocks.set({ orders: { 1: { closePrice: 5n } } });
   * (await vault.getOrderInfo(1n)).closePrice;
   * // 5n
   * ```
   */
  public async mockAt(
    role: ContractRole,
    options: MockAtOptions = {},
  ): Promise<MockVaultHandle> {
    const { mockAt } = await import("../mocks/deploy-mocks.js");
    return await mockAt(this, role, options);
  }

  /** @internal No others: forks are configured with these. */
  public get display(): DisplaySettings {
    const { tokenDecimals, displayDecimals } = this.settings;
    return {
      tokenDecimals: tokenDecimals ?? this.scales.tokenDecimals,
      displayDecimals: { ...this.scales.displayDecimals, ...displayDecimals },
    };
  }

  /**
   * Adopts the scales of the mocks of deploy-mocks, if all contracts are theirs. An error of
   * the recorded mocks is one of the first read, too.
   *
   * @param timeout Milliseconds; a deadline of the vault may come first.
   * @internal
   */
  public async useScalesOfMocks(timeout?: number): Promise<void> {
    const { contracts } = this.connection.networkConfig.vault;
    const configured = { ...contracts, ...this.settings.contracts };
    if (Object.keys(configured).length === 0) {
      // A file that cannot be used is an error of whatever needs an address.
      const find = async () =>
        await this.deployments
          ?.find()
          .catch(fallbackTo(undefined, ({ kind }) => kind !== "rpc"));
      const found = await this.rpc
        .withOptions({ timeout }, DEFAULT_TIMEOUT_MS)
        .withinDeadline("the requests that look up mocks", find);
      this.scales = typeof found === "object" ? mockScales : {};
    }
  }

  /** @internal */
  public get settings(): VaultInstanceConfig {
    return requireInstance(
      this.networkName,
      this.connection.networkConfig,
      this.instanceName,
    );
  }

  /** @internal */
  public async guardAddress(): Promise<LocatedAddress | undefined> {
    const { guard } = this.settings;
    const path = settingsPath(this.networkName, this.instanceName);
    return guard === undefined || guard === false
      ? undefined
      : await resolveAddress(guard, `${path}.guard`);
  }

  /** @internal */
  public async defaultSender(): Promise<string> {
    signing ??= import("../sending/signer.js");
    const { findSender } = await signing;
    return await findSender(this.rpc, this.connection.networkConfig);
  }

  /** @internal */
  public bind(addresses: AddressResolver): void {
    this.ownAddresses.bind(addresses);
  }

  /** @internal */
  public adoptFork(fork: ForkConnection): void {
    fork.vault = HardhatVault.forConnection(
      fork,
      this.context,
      // A node behind a fork may repeat the secrets of this network.
      this.rpc.redactor,
      // Errors name the user's network, not the one that forks are made with.
      `${this.networkName} (fork)`,
    );
  }

  /** Parsed on use, because most connections do not read with this caller. */
  protected override defaultCaller(): string {
    return configuredCaller(this.networkName, this.connection.networkConfig);
  }

  protected override runner(): ContractRunner {
    return this.connection.ethers.provider;
  }
}

/** @returns The network's `from`, else the zero address. */
export function configuredCaller(
  networkName: string,
  { from }: Pick<NetworkConfig, "from">,
): string {
  return from === undefined
    ? ZeroAddress
    : parseAddress(from, `networks.${networkName}.from`);
}

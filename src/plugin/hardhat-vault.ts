import { ZeroAddress } from "ethers";
import type { ContractRunner } from "ethers";
import type { NetworkConfig } from "hardhat/types/config";
import type { HookContext } from "hardhat/types/hooks";
import type { ChainType, NetworkConnection } from "hardhat/types/network";

import { fixedAddresses, inOrder } from "../client/addresses.js";
import type {
  AddressResolver,
  ContractAddresses,
} from "../client/addresses.js";
import type { FindErrors } from "../client/error-abis.js";
import { parseAddress } from "../client/inputs.js";
import type { ListedOrder, OrdersOptions } from "../client/orders/types.js";
import type { OperationOptions } from "../client/reader.js";
import { VaultClient } from "../client/vault-client.js";
import type {
  DeployMocksOptions,
  MockAtOptions,
} from "../mocks/deploy-mocks.js";
import type { MockVaultHandle as MockHandle } from "../mocks/handle.js";
import type { UpstreamAddresses, VaultHost } from "../host.js";
import { RpcClient } from "../rpc/rpc-client.js";
import type { ContractRole, DisplaySettings } from "../protocol/index.js";
import type { Settlement, SettleAllOptions } from "../settlement/types.js";
import type {
  ForkConnection,
  ForkOptions,
} from "../simulation/engines/fork.js";
import type { SimulateSettleAllOptions } from "../simulation/options.js";
import type { Simulation } from "../simulation/types.js";
import { connectionAddresses, settingsOf } from "./addresses.js";
import type { ConnectionAddresses } from "./addresses.js";
import type { DeploymentAddresses } from "./deployments.js";
import { findInProject } from "./project-abis.js";

/**
 * The handle that scripts mocks; its `vault`, the plugin's unless named, is
 * bound to them.
 */
export type MockVaultHandle<VaultT extends VaultClient = HardhatVault> =
  MockHandle<VaultT>;

/** The parts that the vaults on one connection share. */
interface NetworkParts extends Pick<
  HardhatVault,
  "connection" | "context" | "networkName" | "rpc"
> {
  readonly findErrors: FindErrors;
  readonly upstream: UpstreamAddresses | undefined;
  /** The network's own, and by name those of its instances. */
  readonly vaults: Map<string | undefined, HardhatVault>;
}

/** The parts that the vaults of one set of contracts share. */
interface InstanceParts extends Pick<
  HardhatVault,
  "instanceName" | "deployments"
> {
  /** Those below `at()`. */
  readonly addresses: ConnectionAddresses;
}

const IN_PROCESS_CHUNK = 50;

/**
 * `connection.vault`: a {@link VaultClient} over a Hardhat connection, with
 * addresses from its configuration, that can also settle, simulate a
 * settlement and deploy mocks.
 */
export class HardhatVault extends VaultClient implements VaultHost {
  public readonly connection: NetworkConnection<ChainType | string>;
  public readonly instanceName: string | undefined;
  /** @internal */
  public readonly context: HookContext;
  /** @internal Undefined where nothing persists: on an in-process network. */
  public readonly deployments: (() => Promise<DeploymentAddresses>) | undefined;

  private constructor(
    private readonly network: NetworkParts,
    private readonly parts: InstanceParts,
    addresses: AddressResolver = parts.addresses.locate,
    rpc: RpcClient = network.rpc,
    /** In the place of the configured sender, during one operation. */
    private readonly from?: string,
  ) {
    const { connection, networkName, findErrors } = network;
    super(connection.provider, addresses, { rpc, networkName, findErrors });
    this.connection = connection;
    this.context = network.context;
    this.instanceName = parts.instanceName;
    this.deployments = parts.deployments;
  }

  /**
   * @param networkName The network's name in error texts.
   * @param upstream The addresses of a fork's contracts.
   * @internal
   */
  public static forConnection(
    connection: NetworkConnection<ChainType | string>,
    context: HookContext,
    networkName = connection.networkName,
    upstream?: UpstreamAddresses,
  ): HardhatVault {
    return HardhatVault.#open({
      connection,
      context,
      networkName,
      rpc: new RpcClient(connection.provider, networkName),
      findErrors: findInProject(context.artifacts),
      upstream,
      vaults: new Map(),
    });
  }

  static #open(network: NetworkParts, instanceName?: string): HardhatVault {
    const { connection, context, networkName, rpc, upstream, vaults } = network;
    const { networkConfig } = connection;
    let opened: Promise<DeploymentAddresses> | undefined;
    const { root } = context.config.paths;
    // Loaded when it is asked for: it needs zod.
    const openDeployments = async (): Promise<DeploymentAddresses> =>
      await (opened ??= import("./deployments.js").then(
        (module) => new module.DeploymentAddresses(rpc, root, instanceName),
      ));
    const deployments =
      networkConfig.type === "http" ? openDeployments : undefined;
    const addresses = connectionAddresses(networkName, networkConfig, {
      instance: instanceName,
      network: vaults.get(undefined)?.parts.addresses,
      upstream: upstream?.(instanceName),
      deployments,
    });
    const parts = { instanceName, deployments, addresses };
    const vault = new HardhatVault(network, parts);
    vaults.set(instanceName, vault);
    return vault;
  }

  /**
   * Another set of contracts on the same network, as its configuration names it.
   * Contracts that the instance omits are the network's own; mocks that are deployed
   * for it are its alone.
   *
   * @throws VaultError VAULT_UNKNOWN_INSTANCE
   *
   * @example
   * ```ts
   * await vault.instance("weekly").addressOf("vault");
   * // {
   * //   address: '0x00000000000000000000000000000000000000A1',
   * //   source: 'networks.default.vault.instances.weekly.contracts.vault'
   * // }
   * ```
   */
  public instance(name: string): HardhatVault {
    const { network, rpc, from } = this;
    const vault = network.vaults.get(name) ?? HardhatVault.#open(network, name);
    return rpc === network.rpc
      ? vault
      : new HardhatVault(network, vault.parts, vault.addresses, rpc, from);
  }

  /**
   * The same vault with other addresses: those named replace its own.
   *
   * @param source Where they come from, for error texts.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   *
   * @example
   * ```ts
   * const trading = "0x00000000000000000000000000000000000000A1";
   * const other = vault.at({ trading });
   * [(await other.addressOf("trading")).source, await other.queryVolume()];
   * // [ 'at()', 420000000000000000000n ]
   * ```
   */
  public override at(
    contracts: ContractAddresses,
    source = "at()",
  ): HardhatVault {
    return new HardhatVault(
      this.network,
      this.parts,
      inOrder(fixedAddresses(contracts, source), this.addresses),
      this.rpc,
      this.from,
    );
  }

  /** @internal */
  public override withDeadline(options: OperationOptions): HardhatVault {
    const { from = this.from } = options;
    return new HardhatVault(
      this.network,
      this.parts,
      this.addresses,
      this.rpcFor(options),
      from,
    );
  }

  public override orders(
    options: OrdersOptions = {},
  ): AsyncGenerator<ListedOrder, void, undefined> {
    // In process there is no round trip to save, and Hardhat's tracing slows
    // down with the length of a call.
    return super.orders(
      this.connection.networkConfig.type === "edr-simulated"
        ? { ...options, chunkSize: options.chunkSize ?? IN_PROCESS_CHUNK }
        : options,
    );
  }

  /**
   * Settles the vault's current round.
   *
   * Protocol, section 4.2, operation 10. `settleAll` names no round: the round
   * is read first and again right before every sending, and nothing is sent if
   * it changed. On an HTTP network the transaction is journalled in
   * `vault-deployments/` before it leaves, so that `resume` can find out what
   * became of it. Nobody is asked: pass `confirm` to ask.
   *
   * @returns What happened; see `status`. Once a transaction may have left,
   * this never throws.
   * @throws VaultError before anything is sent: VAULT_CONTRACT_NOT_CONFIGURED,
   * VAULT_NO_CODE, VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT,
   * VAULT_INVALID_KEY, VAULT_CONFIG_VARIABLE, VAULT_INVALID_JOURNAL,
   * VAULT_JOURNAL_NOT_WRITTEN and those of a failed request
   *
   * @example
   * ```ts
   * const { status, after } = await vault.settleAll();
   * [status, after?.settledPrice];
   * // [ 'settled', 66250000000000000000000n ]
   * ```
   */
  public async settleAll(options: SettleAllOptions = {}): Promise<Settlement> {
    const { settleAll } = await import("../settlement/settle-all.js");
    return (await settleAll(this, options)).settlement;
  }

  /**
   * Simulates the settlement of the current round and reports every value
   * before and after. Nothing is sent to the chain.
   *
   * Over HTTP the node executes it where it can, else a fork in this process;
   * which one did, `engine` of the result says. On an in-process network it
   * happens on the network itself and is undone: do nothing else on it meanwhile.
   *
   * @returns What would happen. A contract that refuses is `reverted`, with its
   * reason, and not an exception.
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_NO_CODE,
   * VAULT_NO_SENDER, VAULT_BLOCK_NOT_FOUND, VAULT_ARCHIVE_NODE_NEEDED,
   * VAULT_TIME_IN_PAST, VAULT_INVALID_TIME, VAULT_INVALID_ARGUMENT,
   * VAULT_NOT_A_TOKEN and those of a failed request
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
    const { simulateSettleAll } =
      await import("../simulation/simulate-settle-all.js");
    return (await simulateSettleAll(this, options)).simulation;
  }

  /**
   * Forks this HTTP network in process, whatever its chain id is.
   *
   * @returns A connection to the fork, its `vault` bound to the addresses of
   * this one, and `vault.instance()` to those of the network's instances. It has
   * Hardhat's usual accounts. Close it when done.
   * @throws VaultError VAULT_CANNOT_FORK_IN_PROCESS, VAULT_BLOCK_NOT_FOUND,
   * VAULT_INVALID_BLOCK, VAULT_INVALID_ENUM, VAULT_FORK_NETWORK_TAKEN and
   * those of a failed request
   *
   * @example
   * ```ts
   * const fork = await vault.fork();
   * const { status } = await fork.vault.settleAll();
   * [status, (await vault.getLatestRoundInfo()).settled];
   * // [ 'settled', false ]
   * await fork.close();
   * ```
   */
  public async fork(options: ForkOptions = {}): Promise<ForkConnection> {
    const { fork } = await import("../simulation/engines/fork.js");
    return await fork(this, options);
  }

  /**
   * Deploys the six mocks and binds this connection's vault to them.
   *
   * @returns The handle that scripts them; its `vault` is bound to them
   * whatever happens to the connection.
   * @throws VaultError VAULT_INVALID_ENUM, VAULT_LIVE_NETWORK,
   * VAULT_NO_SIGNER, VAULT_MOCK_SCRIPT_FAILED, VAULT_INVALID_ARGUMENT,
   * VAULT_INVALID_FIXTURE and those of a failed request
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
   * Places a mock where one contract is, so that a test can script that one
   * while the others stay the real ones: on a fork, or in process.
   *
   * The mock first returns what the contract there returned; what cannot be
   * read, orders among it, is that of the scenario `open-round`.
   *
   * @returns A handle whose methods for that contract work; those for a
   * contract that is not a mock throw VAULT_NOT_A_MOCK.
   * @throws VaultError VAULT_LIVE_NETWORK on anything that is not in process,
   * anvil or `hardhat node`; VAULT_CONTRACT_NOT_CONFIGURED,
   * VAULT_INVALID_ENUM, VAULT_INVALID_ARGUMENT and those of a failed request
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

  /** @internal Scales of the amounts of this set of contracts, for display. */
  public get settings(): DisplaySettings {
    const { tokenDecimals, displayDecimals } = settingsOf(
      this.networkName,
      this.connection.networkConfig,
      this.instanceName,
    );
    return { tokenDecimals, displayDecimals };
  }

  /** @internal The account that settles by default. */
  public async defaultSender(): Promise<string> {
    const { findSender } = await import("./sender.js");
    return await findSender(this.rpc, this.connection.networkConfig);
  }

  /** @internal */
  public bind(addresses: AddressResolver): void {
    this.parts.addresses.bind(addresses);
  }

  /** @internal */
  public adoptFork(fork: ForkConnection, upstream: UpstreamAddresses): void {
    // Of the user's networks, not of what forks are made with.
    const name = `${this.networkName} (fork)`;
    fork.vault = HardhatVault.forConnection(fork, this.context, name, upstream);
  }

  /** Checked when it is used: most connections are opened for something else. */
  protected override defaultFrom(): string {
    return this.from === undefined
      ? configuredFrom(this.networkName, this.connection.networkConfig)
      : parseAddress(this.from, "from");
  }

  protected override runner(): ContractRunner {
    return this.connection.ethers.provider;
  }
}

/**
 * The sender that the configuration of a network names, else the zero address.
 *
 * @throws VaultError VAULT_INVALID_ADDRESS
 */
export function configuredFrom(
  networkName: string,
  { from }: Pick<NetworkConfig, "from">,
): string {
  return from === undefined
    ? ZeroAddress
    : parseAddress(from, `networks.${networkName}.from`);
}

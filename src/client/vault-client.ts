import { inspect } from "node:util";

import { BrowserProvider, ZeroAddress } from "ethers";
import type { ContractRunner, InterfaceAbi } from "ethers";

import { GIVEN_PROVIDER, fallbackTo } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type {
  Address,
  ContractRole,
  OperationArguments,
  OperationResult,
  ReadOperationName,
} from "../protocol/index.js";
import { getBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { getChainId } from "../rpc/chain.js";
import {
  DEFAULT_TIMEOUT_MS,
  RpcClient,
  requireProvider,
} from "../rpc/rpc-client.js";
import type { Eip1193Provider } from "../rpc/rpc-client.js";
import { encodeCall } from "./codec.js";
import {
  createContracts,
  firstOf,
  fixedAddresses,
  requireAddress,
} from "./contracts.js";
import type {
  VaultContracts,
  AddressResolver,
  ContractAddresses,
  LocatedAddress,
  LocatedRole,
} from "./contracts.js";
import { errorAbisIn } from "../rpc/revert-reason.js";
import type { ErrorAbisOf } from "../rpc/revert-reason.js";
import {
  checkOptions,
  optional,
  parseAccount,
  parseBlock,
  parseDuration,
  withAddress,
} from "./inputs.js";
import type { AddressLike, BlockTag, OptionsOf } from "./inputs.js";
import type { ListedOrder, Order } from "./order-reader.js";
import { readOrders } from "./orders.js";
import type { OrdersOptions } from "./orders.js";
import {
  isNotConfigured,
  locate,
  readCall,
  readOptions,
  takePinnedSnapshot,
} from "./read-at-block.js";
import type {
  ReadContext,
  ReadOptions,
  SnapshotOptions,
  StrictVaultSnapshot,
  VaultSnapshot,
} from "./read-at-block.js";
import { ReadMethods } from "./reads.js";
import { readRounds } from "./rounds.js";
import type { PastRound, RoundsOptions } from "./rounds.js";

const clientOptions = {
  /** Caller of reads that name none: an address or a signer. Default: the zero address. */
  from: optional<AddressLike>(),
  /** The network's name in error texts. */
  networkName: optional<string>(),
  /**
   * ABIs of the contracts' custom errors, each as in an artifact.
   * `connection.vault` uses the project's artifacts.
   */
  abis: optional<readonly InterfaceAbi[]>(),
  /** @internal In place of `abis`. */
  errorAbisOf: optional<ErrorAbisOf>(),
  /** @internal */
  rpc: optional<RpcClient>(),
};

/** Options of a {@link VaultClient}. */
export interface VaultClientOptions extends OptionsOf<typeof clientOptions> {}

/** Addresses by role, of the contracts that have one. */
export type VaultAddresses = { readonly [Role in ContractRole]?: Address };

/**
 * Reads the protocol's contracts over an EIP-1193 provider. Values are unscaled: each
 * uint256 is a `bigint`.
 *
 * A subclass may add methods that use no `#private` member: the vaults of `at()` inherit
 * them.
 */
export class VaultClient extends ReadMethods {
  public readonly provider: Eip1193Provider;
  /** @internal */
  public readonly rpc: RpcClient;
  /** @internal */
  public readonly errorAbisOf: ErrorAbisOf;
  private readonly resolver: AddressResolver;
  /** Caller of reads that name none. Default: `defaultCaller()`. */
  protected readonly from: string | undefined;
  private madeContracts: VaultContracts | undefined;

  /**
   * @param contracts Addresses by role. A missing one fails when it is used.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   */
  constructor(
    provider: Eip1193Provider,
    contracts: ContractAddresses | AddressResolver,
    options: VaultClientOptions = {},
  ) {
    super();
    checkOptions("VaultClient", options, clientOptions);
    this.provider = requireProvider(provider);
    this.rpc =
      options.rpc ??
      new RpcClient(provider, options.networkName ?? GIVEN_PROVIDER);
    this.resolver =
      typeof contracts === "function"
        ? contracts
        : fixedAddresses(contracts, "VaultClient");
    this.from =
      options.from === undefined
        ? undefined
        : parseAccount(options.from, "from");
    this.errorAbisOf = options.errorAbisOf ?? errorAbisIn(options.abis ?? []);
  }

  /** The network's name in error texts. */
  public get networkName(): string {
    return this.rpc.network;
  }

  /**
   * The ethers contracts by role, typed by TypeChain. Connect a signer to send.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED when a contract without an
   * address is used
   */
  public get contracts(): VaultContracts {
    return (this.madeContracts ??= createContracts(
      async (role) => await this.addressOf(role),
      () => this.runner(),
    ));
  }

  /**
   * The addresses by role, without those of contracts that have none. They can be passed
   * to `at()`.
   *
   * @throws VaultError when awaited: VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE
   *
   * @example
   * ```ts
   * (await vault.addresses).trading;
   * // '0x2279B7A0a67DB372996a5FaB50D91eAA73d2eBe6'
   * ```
   */
  public get addresses(): Promise<VaultAddresses> {
    return this.locateAll().then((found) =>
      Object.fromEntries(found.map(({ role, address }) => [role, address])),
    );
  }

  /** @internal The contracts that have an address, each with its source. */
  public async locateAll(): Promise<readonly LocatedRole[]> {
    const found = await Promise.all(
      contractRoleNames.map(async (role) => {
        const located = await this.addressOf(role).catch(
          fallbackTo(undefined, isNotConfigured),
        );
        return located === undefined ? [] : { role, ...located };
      }),
    );
    return found.flat();
  }

  /**
   * Returns the same vault with some addresses replaced.
   *
   * @param source The origin of the addresses, for error texts.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   *
   * @example
   * ```ts
   * const trading = "0x00000000000000000000000000000000000000A1";
   * (await vault.at({ trading }).addressOf("trading")).source;
   * // 'at()'
   * ```
   */
  public at(contracts: ContractAddresses, source = "at()"): this {
    const given = fixedAddresses(contracts, source);
    return this.copy({ resolver: firstOf(given, this.resolver) });
  }

  /**
   * Resolves the address of a contract and its source, such as a setting.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_ADDRESS,
   * VAULT_CONFIG_VARIABLE
   */
  public async addressOf(
    role: ContractRole,
    operation = `the ${contractRoles[role].label}`,
  ): Promise<LocatedAddress> {
    const context = { operation, network: this.networkName };
    return await this.rpc.withinDeadline(
      "the requests that look up an address",
      async () => await requireAddress(this.resolver, role, context),
    );
  }

  public override async read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options: ReadOptions = {},
  ): Promise<OperationResult<Name>> {
    checkOptions(operation, options, readOptions);
    const call = encodeCall(operation, args);
    const context = await this.openContext(options, DEFAULT_TIMEOUT_MS);
    const value = await readCall(context, await locate(context, call));
    // the decoder follows the table entry that makes the type
    return value as OperationResult<Name>;
  }

  /**
   * Takes every reading that needs no argument, at the block of one header. If the
   * node allows state overrides, this is the header and one `eth_call`. The
   * caller has code in that call, so a contract that checks its caller may
   * return another value. A reading that fails is `{ error }` in its place.
   *
   * @param options With `strict: true`, it throws the error of a reading that fails.
   * @throws VaultError if the block itself cannot be read; VAULT_REORGED if the chain
   * replaced it meanwhile
   *
   * @example
   * ```ts
   * const { chainId, volume, pools } = await vault.snapshot();
   * [chainId, volume, pools.public.locked];
   * // [ 31337, 420000000000000000000n, 1250000000000000000000000n ]
   * ```
   */
  public async snapshot(
    options: SnapshotOptions & { readonly strict: true },
  ): Promise<StrictVaultSnapshot>;
  public async snapshot(options?: SnapshotOptions): Promise<VaultSnapshot>;
  public async snapshot(options: SnapshotOptions = {}): Promise<VaultSnapshot> {
    return (await takePinnedSnapshot(this, options)).snapshot;
  }

  /**
   * Reads orders one by one, all at one block: a range, the orders of `ids`, or,
   * without `lastId`, every order. Memory does not grow with the range.
   *
   * An order that cannot be read is `{ orderID, error }`; with `strict: true`, its error is
   * thrown. For an unknown id the contract fails, or every value is zero (`isEmptyOrder()`).
   * Without `lastId`, the list ends at 16 ids in a row that fail, or at 500 without an order;
   * ids behind the last order are left out. If no id is answered, the first error is thrown.
   * A contract that answers every id with an order is read without end: pass a `lastId`.
   *
   * @throws VaultError when iterated: VAULT_REORGED if the chain replaced the block
   * meanwhile; and for an invalid option, a missing contract or a node that does not
   * answer. An aborted `signal` throws its reason.
   *
   * @example
   * ```ts
   * for await (const order of vault.orders({ firstId: 1, lastId: 2 })) {
   *   if (!isFailedOrder(order)) console.log(order.orderID, order.exType);
   * }
   * // 1n BTC-USDT
   * // 2n ETH-USDT
   * ```
   */
  public orders(
    options: OrdersOptions & { readonly strict: true },
  ): AsyncGenerator<Order, void, undefined>;
  public orders(
    options?: OrdersOptions,
  ): AsyncGenerator<ListedOrder, void, undefined>;
  public orders(
    options: OrdersOptions = {},
  ): AsyncGenerator<ListedOrder, void, undefined> {
    return readOrders(this, options);
  }

  /**
   * Finds every round that the vault ever had, oldest first, with its first block,
   * its last block and the block that settled it.
   *
   * Each comes as soon as it is found. Needs an archive node, and about
   * 2 × log2(blocks between) requests a round. Start times must never go back; if one does,
   * a round has `outOfOrder`. A round that came and went within one block is not found, nor
   * may be one between two blocks without a round; one that the settling block replaced is not
   * seen settled.
   *
   * @throws VaultError when iterated: VAULT_ARCHIVE_NODE_NEEDED, VAULT_REORGED if the
   * chain replaced the last block meanwhile, an invalid option, or a node that does not
   * answer. If no block has a round, the last block's error is
   * thrown. An aborted `signal` throws its reason.
   *
   * @example
   * ```ts
   * for await (const round of vault.rounds()) {
   *   console.log(round.firstBlock, round.settledBlock, round.strikePrice);
   * }
   * // 1 null 65000000000000000000000n
   * ```
   */
  public rounds(
    options: RoundsOptions = {},
  ): AsyncGenerator<PastRound, void, undefined> {
    return readRounds(this, options);
  }

  /** Reads number and timestamp (Unix seconds) of a block. */
  public async block(blockTag: BlockTag = "latest"): Promise<BlockInfo> {
    const { number, timestamp } = await getBlock(
      this.rpc,
      parseBlock(blockTag),
    );
    return { number, timestamp };
  }

  public async chainId(): Promise<number> {
    return await getChainId(this.rpc);
  }

  /** @internal `console.log()` would print every part of the network. */
  public [inspect.custom](): string {
    return `${this.constructor.name} { networkName: ${inspect(this.networkName)} }`;
  }

  /**
   * Returns the same vault, all of whose requests share these options.
   *
   * @param standardTimeout Milliseconds if there is no deadline yet.
   * @internal
   */
  public withOptions(
    { from, timeout, signal, onRetry }: Omit<ReadOptions, "blockTag">,
    standardTimeout?: number,
  ): this {
    const given = [from, timeout ?? standardTimeout, signal, onRetry];
    if (given.every((one) => one === undefined)) {
      return this;
    }
    const milliseconds =
      timeout === undefined ? undefined : parseDuration("timeout", timeout);
    const options = { timeout: milliseconds, signal, onRetry };
    return this.copy({
      rpc: this.rpc.withOptions(options, standardTimeout),
      from: from === undefined ? this.from : parseAccount(from, "from"),
    });
  }

  /**
   * Returns a vault with the methods and the fields of this one, those of a subclass among
   * them, but for these parts.
   *
   * @internal
   */
  protected copy(parts: {
    readonly resolver?: AddressResolver;
    readonly rpc?: RpcClient;
    readonly from?: string | undefined;
  }): this {
    // an object of the same class
    const copied = Object.create(Reflect.getPrototypeOf(this)) as this;
    return Object.assign(copied, this, { madeContracts: undefined }, parts);
  }

  /** @internal What reads at this block need. */
  public readContext({
    blockTag = "latest",
  }: Pick<ReadOptions, "blockTag"> = {}): ReadContext {
    const { rpc, errorAbisOf, from = this.defaultCaller() } = this;
    return {
      rpc,
      from,
      block: parseBlock(blockTag),
      addressOf: async (role, operation) =>
        await this.addressOf(role, operation),
      errorAbisOf,
    };
  }

  /**
   * The same with all options of a read.
   *
   * @param standardTimeout Milliseconds if there is no deadline yet.
   * @internal
   */
  public async openContext(
    options: ReadOptions,
    standardTimeout?: number,
  ): Promise<ReadContext> {
    const given = await withAddress(options);
    return this.withOptions(given, standardTimeout).readContext(options);
  }

  /** Caller if neither the vault nor the read has one; a subclass may override it. */
  protected defaultCaller(): string {
    return ZeroAddress;
  }

  /** Runs the calls of `contracts`; a subclass may override it. */
  protected runner(): ContractRunner {
    return new BrowserProvider(this.provider, "any");
  }
}

import { inspect } from "node:util";

import { BrowserProvider, Contract, ZeroAddress } from "ethers";
import type { ContractRunner } from "ethers";

import { GIVEN_PROVIDER, fallbackTo } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type {
  Address,
  CalMarginsParameters,
  ContractRole,
  ContractType,
  ContractTypeName,
  MarginAmounts,
  OperationArguments,
  OperationResult,
  PoolAmounts,
  PoolName,
  ReadOperationName,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
import { toBlockId } from "../rpc/block-id.js";
import type { PinnedBlock } from "../rpc/block-id.js";
import { getBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { getChainId } from "../rpc/chain.js";
import { requireProvider } from "../rpc/eip1193.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { requireSameBranch } from "../rpc/pinned-block.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { DEFAULT_TIMEOUT_MS, RpcClient } from "../rpc/rpc-client.js";
import { firstOf, fixedAddresses, requireAddress } from "./addresses.js";
import type {
  AddressResolver,
  ContractAddresses,
  LocatedAddress,
} from "./addresses.js";
import { contractFactories, encodeCall } from "./codec.js";
import { errorAbisIn, explainReason } from "./error-abis.js";
import type { ErrorAbisOf } from "./error-abis.js";
import { isNotConfigured } from "./failed-reading.js";
import {
  parseAccount,
  parseBlockTag,
  parseDuration,
  withAddress,
} from "./inputs.js";
import type { BlockTag } from "./inputs.js";
import { checkOptions } from "./options.js";
import type { ListedOrder, Order } from "./order-reader.js";
import { readOrders } from "./orders.js";
import type { OrdersOptions } from "./orders.js";
import { LOOK_UP, clientOptions, readCall, readOptions } from "./reader.js";
import type { Context, ReadOptions, VaultClientOptions } from "./reader.js";
import { readRounds } from "./rounds.js";
import type { PastRound, RoundsOptions } from "./rounds.js";
import { snapshotOptions, takePinnedSnapshot } from "./snapshot.js";
import type {
  SnapshotOptions,
  StrictVaultSnapshot,
  VaultSnapshot,
} from "./snapshot.js";

/** The parts of a vault that a copy of it may have of its own. */
interface VaultParts {
  readonly locate?: AddressResolver;
  readonly rpc?: RpcClient;
  /** Sender of reads that name none. */
  readonly from?: string;
  readonly pin?: PinnedBlock;
}

export type VaultContracts = {
  readonly [Role in ContractRole]: ReturnType<
    (typeof contractFactories)[(typeof contractRoles)[Role]["abi"]]["connect"]
  >;
};

/** Addresses by role, of the contracts that have one. */
export type VaultAddresses = { readonly [Role in ContractRole]?: Address };

/** The read methods of a client, one for each read operation. */
export interface VaultReads extends Pick<VaultClient, ReadOperationName> {}

/**
 * Reads the protocol's contracts over an EIP-1193 provider. Values are unscaled: each
 * uint256 is a `bigint`.
 *
 * A subclass may add methods that use no `#private` member: the vaults of `at()` inherit
 * them.
 */
export class VaultClient {
  public readonly provider: Eip1193Provider;
  /** The network's name in error texts. */
  public readonly networkName: string;
  /** @internal */
  public readonly rpc: RpcClient;
  protected readonly locate: AddressResolver;
  /** Sender of reads that name none. Default: `defaultFrom()`. */
  protected readonly from: string | undefined;
  /** The block whose reads are all of one branch of the chain. */
  protected readonly pin?: PinnedBlock;
  /** @internal */
  protected readonly errorAbisOf: ErrorAbisOf;
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
    checkOptions("VaultClient", options, clientOptions);
    this.provider = requireProvider(provider);
    this.networkName = options.networkName ?? GIVEN_PROVIDER;
    this.rpc = options.rpc ?? new RpcClient(provider, this.networkName);
    this.locate =
      typeof contracts === "function"
        ? contracts
        : fixedAddresses(contracts, "VaultClient");
    this.from =
      options.from === undefined
        ? undefined
        : parseAccount(options.from, "from");
    this.errorAbisOf = options.errorAbisOf ?? errorAbisIn(options.abis ?? []);
  }

  /**
   * The ethers contracts by role, typed by TypeChain. Connect a signer to send.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED when a contract without an
   * address is used
   */
  public get contracts(): VaultContracts {
    this.madeContracts ??= createContracts(this, () => this.runner());
    return this.madeContracts;
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
    return findAddresses(this);
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
    return this.copy({ locate: firstOf(given, this.locate) });
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
      LOOK_UP,
      requireAddress(this.locate, role, context),
    );
  }

  /**
   * Reads one operation by its name, as the method of that name does.
   *
   * @throws VaultError for invalid arguments and options: VAULT_INVALID_INTEGER,
   * VAULT_INVALID_ENUM, VAULT_INVALID_ADDRESS, VAULT_INVALID_BLOCK,
   * VAULT_INVALID_ARGUMENT; for the contract: VAULT_CONTRACT_NOT_CONFIGURED,
   * VAULT_CONFIG_VARIABLE, VAULT_NO_CODE, VAULT_CALL_REVERTED,
   * VAULT_RETURN_DATA_MALFORMED; for the block: VAULT_BLOCK_NOT_FOUND,
   * VAULT_ARCHIVE_NODE_NEEDED; and errors of a request
   *
   * @example
   * ```ts
   * await vault.read("getFundingFeeRate", ["call"]);
   * // 25000n
   * ```
   */
  public async read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options: ReadOptions = {},
  ): Promise<OperationResult<Name>> {
    checkOptions(operation, options, readOptions);
    const call = encodeCall(operation, args);
    const context = await this.openContext(options, DEFAULT_TIMEOUT_MS);
    const target = await context.locate(call.role, operation);
    const value = await readCall(context, call, target);
    // the decoder follows the table entry that makes the type
    return value as OperationResult<Name>;
  }

  /**
   * Reads the funding fee rate for calls or puts
   * (`IUnderlyingAsset.getFundingFeeRate`).
   *
   * @param contractType `"call"`, `"put"` or a number of {@link ContractType}.
   * @returns The rate as an unscaled integer: real value times 1E8.
   * @throws VaultError VAULT_INVALID_ENUM before a request is made, and the errors of
   * {@link VaultClient.read}
   *
   * @example
   * ```ts
   * await vault.getFundingFeeRate("call");
   * // 25000n
   * ```
   */
  public async getFundingFeeRate(
    contractType: ContractType | ContractTypeName,
    options?: ReadOptions,
  ): Promise<bigint> {
    return await this.read("getFundingFeeRate", [contractType], options);
  }

  /**
   * Reads the latest round of the vault (`IVaultFactory.getLatestRoundInfo`).
   *
   * @returns Ten fields. Prices are real value times 1E18; `APY` times 1E18
   * (1E18 is 100%); volumes and `minDeposit` times 1E(token precision); times
   * are Unix seconds; the scale of `settledAmount` is not documented.
   * @throws VaultError with the codes of {@link VaultClient.read}
   *
   * @example
   * ```ts
   * const { strikePrice, settled } = await vault.getLatestRoundInfo();
   * // { strikePrice: 65000000000000000000000n, settled: false }
   * ```
   */
  public async getLatestRoundInfo(options?: ReadOptions): Promise<VaultRound> {
    return await this.read("getLatestRoundInfo", [], options);
  }

  /**
   * Reads one order (`ITrading.getOrderInfo`).
   *
   * The protocol does not document the result for an unknown id: the contract may
   * revert or return zeros.
   *
   * @param orderID 0 to 2^256 - 1.
   * @returns Thirteen fields, unscaled; their scales are not documented. Compare
   * `state` with `OrderState`, and `contractType` with `ContractType`.
   * @throws VaultError VAULT_INVALID_INTEGER before a request is made, and the errors
   * of {@link VaultClient.read}
   *
   * @example
   * ```ts
   * const { holder, state } = await vault.getOrderInfo(1n);
   * // { holder: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', state: 1 }
   * ```
   */
  public async getOrderInfo(
    orderID: bigint | number,
    options?: ReadOptions,
  ): Promise<VaultOrder> {
    return await this.read("getOrderInfo", [orderID], options);
  }

  /**
   * Calculates the margins to pay for the next round (`IVault.calMargins`).
   *
   * @param values `maxVolume`: real value times 1E(token precision); `APY`: real
   * value times 1E18 (1E18 is 100%); `endTime`: Unix seconds.
   * @returns Both margins, unscaled; their scale is not documented.
   * @throws VaultError VAULT_INVALID_INTEGER before a request is made, and the errors
   * of {@link VaultClient.read}
   *
   * @example
   * ```ts
   * const maxVolume = 1_000_000n * 10n ** 18n;
   * const APY = 12n * 10n ** 16n;
   * await vault.calMargins({ maxVolume, APY, endTime: 1_800_000_000n });
   * // { baseMarginAmount: 52500000000000000000000n, xMarginAmount: 10500000000000000000000n }
   * ```
   */
  public async calMargins(
    values: CalMarginsParameters,
    options?: ReadOptions,
  ): Promise<MarginAmounts> {
    return await this.read("calMargins", [values], options);
  }

  /**
   * Reads the amounts of one liquidity pool (`ILiquidityPool.getLPAmountInfo`).
   *
   * @returns `deposit`, `availabe` (the contract spells it so) and `locked`,
   * unscaled; their scale is not documented.
   * @throws VaultError VAULT_INVALID_ENUM before a request is made, and the errors of
   * {@link VaultClient.read}
   *
   * @example
   * ```ts
   * const { locked } = await vault.getLPAmountInfo("public");
   * // { locked: 1250000000000000000000000n }
   * ```
   */
  public async getLPAmountInfo(
    pool: PoolName,
    options?: ReadOptions,
  ): Promise<PoolAmounts> {
    return await this.read("getLPAmountInfo", [pool], options);
  }

  /**
   * Reads the vault's volume (`IVault.queryVolume`).
   *
   * @returns The volume, unscaled; its scale is not documented.
   * @throws VaultError with the codes of {@link VaultClient.read}
   *
   * @example
   * ```ts
   * await vault.queryVolume();
   * // 420000000000000000000n
   * ```
   */
  public async queryVolume(options?: ReadOptions): Promise<bigint> {
    return await this.read("queryVolume", [], options);
  }

  /**
   * Reads the margins that can be withdrawn (`IVault.queryMarginBalance`).
   *
   * @returns Both margins, unscaled; their scale is not documented.
   * @throws VaultError with the codes of {@link VaultClient.read}
   *
   * @example
   * ```ts
   * const { xMarginAmount } = await vault.queryMarginBalance();
   * // { xMarginAmount: 840000000000000000000n }
   * ```
   */
  public async queryMarginBalance(
    options?: ReadOptions,
  ): Promise<MarginAmounts> {
    return await this.read("queryMarginBalance", [], options);
  }

  /**
   * Reads the X token margin to pay when issuing a vault
   * (`IVaultFactory.minSLDMargin`).
   *
   * @returns The margin, unscaled; its scale is not documented.
   * @throws VaultError with the codes of {@link VaultClient.read}
   *
   * @example
   * ```ts
   * await vault.minXMargin();
   * // 1000000000000000000000n
   * ```
   */
  public async minXMargin(options?: ReadOptions): Promise<bigint> {
    return await this.read("minXMargin", [], options);
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
    checkOptions("snapshot()", options, snapshotOptions);
    return (await takePinnedSnapshot(this, options)).snapshot;
  }

  /**
   * Reads orders one by one, all at one block: a range, the orders of `ids`, or,
   * without `lastId`, every order. Values are unscaled. Memory does not grow with the
   * range.
   *
   * An order that cannot be read is `{ orderID, error }`; with `strict: true`, its error is
   * thrown. For an unknown id the
   * contract fails, or every value is zero (`isEmptyOrder()`). Without `lastId`,
   * unknown ids are left out: those that fail as an id far behind the end does. The list
   * ends at 16 of them in a row, or at 500 ids without an order. If no id is answered, the
   * first error is thrown. A contract that answers every id with an order is read without
   * end: pass a `lastId`.
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
   * a round has `outOfOrder`. A round that came and went within one block is not found, and
   * one that the settling block replaced is not seen settled.
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
    const milliseconds =
      timeout === undefined ? undefined : parseDuration("timeout", timeout);
    const rpc = this.rpc.withOptions(
      { timeout: milliseconds, signal, onRetry },
      standardTimeout,
    );
    return this.copy({
      rpc,
      ...(from !== undefined && { from: parseAccount(from, "from") }),
    });
  }

  /**
   * Returns a vault with the methods and the fields of this one, those of a subclass among
   * them, but for these parts.
   *
   * @internal
   */
  protected copy(parts: VaultParts): this {
    // an object of the same class
    const copied = Object.create(Reflect.getPrototypeOf(this)) as this;
    return Object.assign(copied, this, { madeContracts: undefined }, parts);
  }

  /** Reads number and timestamp (Unix seconds) of a block. */
  public async block(blockTag: BlockTag = "latest"): Promise<BlockInfo> {
    const { number, timestamp } = await getBlock(
      this.rpc,
      parseBlockTag(blockTag),
    );
    return { number, timestamp };
  }

  public async chainId(): Promise<number> {
    return await getChainId(this.rpc);
  }

  /**
   * Returns the same vault, whose reads at this block's number are of this branch of the
   * chain. At the end of a series of reads, {@link VaultClient.requirePin} shows that the
   * block is still there.
   *
   * @internal
   */
  public pinnedTo(pin: PinnedBlock): this {
    return this.copy({ pin });
  }

  /**
   * @throws VaultError VAULT_REORGED if the chain has replaced the block
   * @internal
   */
  public async requirePin(): Promise<void> {
    if (this.pin !== undefined) {
      await requireSameBranch(this.rpc, this.pin);
    }
  }

  /** @internal What reads by this sender at this block need. */
  public readContext({ from, blockTag = "latest" }: ReadOptions = {}): Context {
    const { rpc, pin, errorAbisOf } = this;
    const tag = parseBlockTag(blockTag);
    return {
      rpc,
      from:
        from === undefined
          ? (this.from ?? this.defaultFrom())
          : parseAccount(from, "from"),
      block: pin !== undefined && tag === toBlockId(pin) ? pin : tag,
      locate: async (role, operation) => await this.addressOf(role, operation),
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
  ): Promise<Context> {
    const { blockTag } = options;
    const given = await withAddress(options);
    return this.withOptions(given, standardTimeout).readContext({ blockTag });
  }

  /** @internal Decodes a custom error whose ABI is known. */
  public async explain(reason: RevertReason): Promise<RevertReason> {
    return await explainReason(reason, this.errorAbisOf, this.rpc.hide);
  }

  /** Sender if neither the vault nor the read has one; a subclass may override it. */
  protected defaultFrom(): string {
    return ZeroAddress;
  }

  /** Runs the calls of `contracts`; a subclass may override it. */
  protected runner(): ContractRunner {
    return new BrowserProvider(this.provider, "any");
  }
}

async function findAddresses(vault: VaultClient): Promise<VaultAddresses> {
  const located = contractRoleNames.map(async (role) => {
    const found = await vault
      .addressOf(role)
      .catch(fallbackTo(undefined, isNotConfigured));
    return found === undefined ? [] : [[role, found.address] as const];
  });
  return Object.fromEntries((await Promise.all(located)).flat());
}

function createContracts(
  vault: VaultClient,
  runner: () => ContractRunner,
): VaultContracts {
  const contracts = {};
  for (const role of contractRoleNames) {
    let contract: Contract | undefined;
    Object.defineProperty(contracts, role, {
      enumerable: true,
      get: () => (contract ??= createContract(vault, role, runner())),
    });
  }
  // TypeChain's types describe what the generic contract does with this ABI; its own connect() takes no addressable
  return contracts as VaultContracts;
}

function createContract(
  vault: VaultClient,
  role: ContractRole,
  runner: ContractRunner,
): Contract {
  const { abi } = contractRoles[role];
  const contract = new Contract(
    { getAddress: async () => (await vault.addressOf(role)).address },
    contractFactories[abi].createInterface(),
    runner,
  );
  // ethers requests the address at once. A missing one is an error when the
  // contract is used, not an unhandled rejection now.
  contract.getAddress().catch(() => undefined);
  return contract;
}

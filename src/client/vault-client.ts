import { BrowserProvider, Contract } from "ethers";
import type { ContractRunner } from "ethers";

import { fallbackTo } from "../errors.js";
import { contractRoleNames, contractRoles } from "../protocol/index.js";
import type {
  Address,
  CalMarginsParameters,
  ContractRole,
  ContractType,
  ContractTypeName,
  MarginAmounts,
  PoolAmounts,
  PoolName,
  ReadOperationName,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
import { fixedAddresses, firstOf } from "./addresses.js";
import type { ContractAddresses } from "./addresses.js";
import { contractFactories } from "./codec.js";
import { isNotConfigured } from "./failed-reading.js";
import { readOrders } from "./orders.js";
import type { ListedOrder, Order } from "./order-reader.js";
import type { OrdersOptions } from "./orders.js";
import { checkOptions } from "./options.js";
import { VaultReader } from "./reader.js";
import type { ReadOptions } from "./reader.js";
import { readRounds } from "./rounds.js";
import type { PastRound, RoundsOptions } from "./rounds.js";
import { snapshotOptions, takePinnedSnapshot } from "./snapshot.js";
import type {
  SnapshotOptions,
  StrictVaultSnapshot,
  VaultSnapshot,
} from "./snapshot.js";

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
export class VaultClient extends VaultReader {
  private madeContracts: VaultContracts | undefined;

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
   * unknown ids are left out, and the list ends at 16 ids in a row that fail, or at 500
   * that are no orders. If the first 16 ids fail, the first error is thrown. A contract that
   * answers every id with an order is read without end: pass a `lastId`.
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

  /** @internal A copy makes contracts of its own, with its addresses. */
  protected override copy(parts: Parameters<VaultReader["copy"]>[0]): this {
    return Object.assign(super.copy(parts), { madeContracts: undefined });
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

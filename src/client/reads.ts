import type {
  CalMarginsParameters,
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
import type { ReadOptions } from "./read-at-block.js";

/** The read methods of a client, one for each read operation. */
export interface VaultReads extends Pick<ReadMethods, ReadOperationName> {}

/**
 * A method for each read operation. Each throws the errors of `read()`; for a wrong argument,
 * before it makes a request.
 */
export abstract class ReadMethods {
  /**
   * Reads one operation by its name, as the method of that name does.
   *
   * @throws VaultError for invalid arguments and options: VAULT_INVALID_INTEGER,
   * VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT; for the contract: VAULT_CONTRACT_NOT_CONFIGURED,
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
  public abstract read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options?: ReadOptions,
  ): Promise<OperationResult<Name>>;

  /**
   * Reads the funding fee rate for calls or puts (`IUnderlyingAsset.getFundingFeeRate`).
   *
   * @returns The rate as an unscaled integer: real value times 1E8.
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
   * Reads one order (`ITrading.getOrderInfo`). The protocol does not document the result
   * for an unknown id: the contract may revert or return zeros.
   *
   * @param orderID 0 to 2^256 - 1.
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
   * @returns An integer whose scale is not documented.
   */
  public async queryVolume(options?: ReadOptions): Promise<bigint> {
    return await this.read("queryVolume", [], options);
  }

  /** Reads the margins that can be withdrawn (`IVault.queryMarginBalance`). */
  public async queryMarginBalance(
    options?: ReadOptions,
  ): Promise<MarginAmounts> {
    return await this.read("queryMarginBalance", [], options);
  }

  /**
   * Reads the X token margin to pay when issuing a vault (`IVaultFactory.minSLDMargin`).
   *
   * @returns An integer whose scale is not documented.
   */
  public async minXMargin(options?: ReadOptions): Promise<bigint> {
    return await this.read("minXMargin", [], options);
  }
}

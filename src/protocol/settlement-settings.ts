/** Settings of a settlement that need no resolving. */
export interface SettlementSettings {
  /**
   * Highest `maxFeePerGas` of a settlement in wei; on legacy chains the highest
   * `gasPrice`. Above it nothing is sent. Default: no limit.
   */
  maxFeePerGasLimit?: bigint | undefined;
  /** Highest `maxPriorityFeePerGas` of a settlement in wei. Default: no limit. */
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

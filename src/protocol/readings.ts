/** The arguments and the results of the read operations. */
import type { ContractType, ContractTypeName } from "./enums.js";
import type {
  OperationName,
  PoolName,
  ReadOperationName,
} from "./operations.js";

/** Bytes as 0x hex, such as call data or a hash. The same type as viem's. */
export type Hex = `0x${string}`;

/** An address as 0x hex. The same type as viem's. */
export type Address = `0x${string}`;

/** The result of `getLatestRoundInfo`. */
export interface VaultRound {
  /** Strike price: real value times 1E18. */
  strikePrice: bigint;
  /** APY: real value times 1E18 (1E18 is 100%). */
  APY: bigint;
  /** Maximum volume: real value times 1E(token precision). */
  maxVolume: bigint;
  /** Filled volume: real value times 1E(token precision). */
  filledVolume: bigint;
  /** Minimum deposit: real value times 1E(token precision). */
  minDeposit: bigint;
  /** Start: Unix time in seconds. */
  startTime: bigint;
  /** End: Unix time in seconds. */
  endTime: bigint;
  /** Settled price: real value times 1E18. Updated only once the round is settled. */
  settledPrice: bigint;
  /**
   * Settled amount: an integer whose scale is not documented. Updated only once the
   * round is settled.
   */
  settledAmount: bigint;
  /** Settled. Updated only once the round is settled. */
  settled: boolean;
}

/** The result of `getOrderInfo`. */
export interface VaultOrder {
  /** Pair. */
  exType: string;
  /** Holder, with its checksum. */
  holder: Address;
  /** Open positions: an integer whose scale is not documented. */
  number: bigint;
  /** Opening fee: an integer whose scale is not documented. */
  exFee: bigint;
  /** Accumulated position fee: an integer whose scale is not documented. */
  lockFee: bigint;
  /** Next position fee: an integer whose scale is not documented. */
  newLockFee: bigint;
  /** Opening price: an integer whose scale is not documented. */
  openPrice: bigint;
  /** Margin: an integer whose scale is not documented. */
  marginAmount: bigint;
  /** Liquidation fee: an integer whose scale is not documented. */
  marginFee: bigint;
  /** Opened: an integer whose scale is not documented. */
  startTime: bigint;
  /** Closing price: an integer whose scale is not documented. */
  closePrice: bigint;
  /**
   * Direction: 1 is call, 2 is put (`ContractType`). The protocol lists these numbers
   * for the funding fee rate alone.
   */
  contractType: number;
  /** State: 1 is open, 2 is closed (`OrderState`). */
  state: number;
}

/** The result of `calMargins` and `queryMarginBalance`. */
export interface MarginAmounts {
  /** Base token margin: an integer whose scale is not documented. */
  baseMarginAmount: bigint;
  /** X token margin: an integer whose scale is not documented. */
  xMarginAmount: bigint;
}

/** The result of `getLPAmountInfo`. */
export interface PoolAmounts {
  /** Deposited: an integer whose scale is not documented. */
  deposit: bigint;
  /**
   * Available: an integer whose scale is not documented. Spelled so in the contract.
   */
  availabe: bigint;
  /** Locked: an integer whose scale is not documented. */
  locked: bigint;
}

/** The arguments of `calMargins`. */
export interface CalMarginsParameters {
  /** Maximum volume of the next round: real value times 1E(token precision). */
  maxVolume: bigint | number;
  /** APY of the next round: real value times 1E18 (1E18 is 100%). */
  APY: bigint | number;
  /** End of the next round: Unix time in seconds. */
  endTime: bigint | number;
}

/** The arguments, without options, and the result of each read operation. */
interface ReadOperations {
  getFundingFeeRate: {
    args: [contractType: ContractType | ContractTypeName];
    result: bigint;
  };
  getLatestRoundInfo: { args: []; result: VaultRound };
  getOrderInfo: { args: [orderID: bigint | number]; result: VaultOrder };
  calMargins: { args: [values: CalMarginsParameters]; result: MarginAmounts };
  getLPAmountInfo: { args: [pool: PoolName]; result: PoolAmounts };
  queryVolume: { args: []; result: bigint };
  queryMarginBalance: { args: []; result: MarginAmounts };
  minXMargin: { args: []; result: bigint };
}

/** Arguments of a read operation without its options. */
export type OperationArguments<Name extends ReadOperationName> =
  ReadOperations[Name]["args"];

/** Arguments of the client's method of that name; none for `settleAll`. */
export type CallArguments<Name extends OperationName> =
  Name extends ReadOperationName ? OperationArguments<Name> : [];

/** Result of a read operation: its only value, or an object of its values. */
export type OperationResult<Name extends ReadOperationName> =
  ReadOperations[Name]["result"];

/** Every reading without arguments by its JSON key, or `Otherwise` in its place. */
export interface StandaloneReadings<Otherwise = never> {
  /** The results of `getFundingFeeRate`: real value times 1E8. */
  fundingFeeRate: Record<ContractTypeName, bigint | Otherwise>;
  /** The result of `getLatestRoundInfo`. */
  round: VaultRound | Otherwise;
  /** The results of `getLPAmountInfo`. */
  pools: Record<PoolName, PoolAmounts | Otherwise>;
  /** The result of `queryVolume`: an integer whose scale is not documented. */
  volume: bigint | Otherwise;
  /** The result of `queryMarginBalance`. */
  marginBalance: MarginAmounts | Otherwise;
  /** The result of `minXMargin`: an integer whose scale is not documented. */
  minXMargin: bigint | Otherwise;
}

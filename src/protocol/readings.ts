/** The arguments and the results of the read operations. */
import type { ContractType, ContractTypeName } from "./units.js";
import type {
  Field,
  OperationName,
  PoolName,
  ReadOperationName,
  operations,
} from "./operations.js";

/** Bytes as 0x hex, such as call data or a hash. The same type as viem's. */
export type Hex = `0x${string}`;

/** An address as 0x hex. The same type as viem's. */
export type Address = `0x${string}`;

interface ValueOf {
  uint256: bigint;
  uint8: number;
  bool: boolean;
  string: string;
  address: Address;
}

/** The values of fields by their names. */
type Values<Fields extends readonly Field[]> = {
  [Name in Fields[number]["name"]]: ValueOf[Extract<
    Fields[number],
    { readonly name: Name }
  >["type"]];
};

type Operations = typeof operations;

/**
 * The result of `getLatestRoundInfo`. `strikePrice` and `settledPrice` are real value times
 * 1E18, `APY` too (1E18 is 100%); `maxVolume`, `filledVolume` and `minDeposit` times 1E(token
 * precision); `startTime` and `endTime` Unix seconds. The scale of `settledAmount` is not
 * documented. What settles the round is updated only once it is settled: `settledPrice`,
 * `settledAmount`, `settled`.
 */
export type VaultRound = Values<Operations["getLatestRoundInfo"]["outputs"]>;

/**
 * The result of `getOrderInfo`. The scales of its integers are not documented. `state` is a
 * number of `OrderState`, and `contractType` one of `ContractType`, which the protocol lists
 * for the funding fee rate alone. `holder` has its checksum.
 */
export type VaultOrder = Values<Operations["getOrderInfo"]["outputs"]>;

/** The result of `calMargins` and `queryMarginBalance`; the scales are not documented. */
export type MarginAmounts = Values<Operations["calMargins"]["outputs"]>;

/**
 * The result of `getLPAmountInfo`; the scales are not documented. The contract spells
 * `availabe` so.
 */
export type PoolAmounts = Values<Operations["getLPAmountInfo"]["outputs"]>;

/**
 * The arguments of `calMargins` for the next round. `maxVolume`: real value times 1E(token
 * precision). `APY`: real value times 1E18 (1E18 is 100%). `endTime`: Unix seconds.
 */
export type CalMarginsParameters = Record<
  Operations["calMargins"]["inputs"][number]["name"],
  bigint | number
>;

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

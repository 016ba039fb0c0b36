import type { ContractRole } from "./contracts.js";
import type { Unit } from "./units.js";

/** The Solidity types that occur on this protocol's wire. */
export type WireType = "uint256" | "uint8" | "bool" | "string" | "address";

/** One argument or one returned value of an operation. */
export interface Field {
  /** The name in our API and JSON. */
  readonly name: string;
  readonly type: WireType;
  readonly unit: Unit;
  /**
   * True for a `raw` value that is likely to be Unix seconds, though the protocol
   * does not say so: a date may be shown beside it, as a reading of ours.
   */
  readonly isLikelyTime?: boolean;
  /** The name of an argument on the command line, in Hardhat's camel case. */
  readonly option?: string;
  /** One phrase for a person, from section 2 or 4 of the protocol. */
  readonly label: string;
  /** A further remark of the protocol. */
  readonly note?: string;
}

export interface Operation {
  /** Row number in the protocol's section 4.2. */
  readonly row: number;
  readonly kind: "read" | "transaction";
  /** Function name on the wire, where it is not the operation's name. */
  readonly functionName?: string;
  /** Documented four-byte selector; a constant of the protocol. */
  readonly selector: `0x${string}`;
  /**
   * The contract that is asked: one role, or (for a function that several
   * deployed contracts share) a choice by name.
   */
  readonly target: ContractRole | Readonly<Record<string, ContractRole>>;
  /** The name of the argument that chooses among several. */
  readonly targetName?: string;
  readonly inputs: readonly Field[];
  readonly outputs: readonly Field[];
  /** The type of several returned values, in our API. */
  readonly resultName?: string;
  /** Key of the result in every JSON document and in a snapshot. */
  readonly key: string;
  /** Task that reads it: `hardhat vault <task>`. */
  readonly task: string;
  /** Heading of the result. */
  readonly title: string;
  /** One imperative sentence, the description of the task. */
  readonly description: string;
}

/** A value of the type that nearly all of them have. */
function uint256<const Name extends string, const UnitT extends Unit>(
  name: Name,
  unit: UnitT,
  label: string,
  more: Pick<Field, "option" | "note"> = {},
): Field & { readonly name: Name; readonly unit: UnitT } {
  return { name, type: "uint256", unit, label, ...more };
}

const AFTER_SETTLEMENT = { note: "Updated only once the round is settled" };

/**
 * The ten operations of the protocol (section 4.2), as data. Everything that
 * enumerates operations derives from this table: the client's methods and
 * types, the ABI test, tasks, `status`, `request`, snapshots and simulations.
 */
export const operations = {
  /**
   * Reads the funding fee rate for calls or puts.
   *
   * Protocol, section 4.2, operation 1. `contractType` is "call" (1) or
   * "put" (2), a word or a {@link ContractType}; anything else is refused before
   * a request is made.
   *
   * @returns The rate as an unscaled integer: real value times 1E8.
   *
   * @example
   * ```ts
   * await vault.getFundingFeeRate("call");
   * // 25000n
   * ```
   */
  getFundingFeeRate: {
    row: 1,
    kind: "read",
    selector: "0xc138aa5f",
    target: "underlyingAsset",
    inputs: [
      {
        name: "contractType",
        type: "uint8",
        unit: "contractType",
        option: "type",
        label: "Contract type",
      },
    ],
    outputs: [uint256("fundingFeeRate", "rate", "Funding fee rate")],
    key: "fundingFeeRate",
    task: "funding-rate",
    title: "Funding fee rate",
    description: "Show the funding fee rate for calls and puts",
  },

  /**
   * Reads the latest round of the vault.
   *
   * Protocol, sections 2.1 and 4.2, operation 2.
   *
   * @returns Ten fields. Prices are real value times 1E18; `APY` times 1E18
   * (1E18 is 100%); volumes and `minDeposit` times 1E(token precision); times
   * are Unix seconds; the scale of `settledAmount` is not documented.
   *
   * @example
   * ```ts
   * await vault.getLatestRoundInfo();
   * // {
   * //   strikePrice: 65000000000000000000000n,
   * //   APY: 185000000000000000n,
   * //   maxVolume: 1000000000000000000000n,
   * //   filledVolume: 420000000000000000000n,
   * //   minDeposit: 100000000000000000n,
   * //   startTime: 1795114504n,
   * //   endTime: 1795719304n,
   * //   settledPrice: 0n,
   * //   settledAmount: 0n,
   * //   settled: false
   * // }
   * ```
   */
  getLatestRoundInfo: {
    row: 2,
    kind: "read",
    selector: "0x2016e80b",
    target: "vaultFactory",
    inputs: [],
    outputs: [
      uint256("strikePrice", "price", "Strike price"),
      uint256("APY", "percent", "APY"),
      uint256("maxVolume", "token", "Maximum volume"),
      uint256("filledVolume", "token", "Filled volume"),
      uint256("minDeposit", "token", "Minimum deposit"),
      uint256("startTime", "timestamp", "Start"),
      uint256("endTime", "timestamp", "End"),
      uint256("settledPrice", "price", "Settled price", AFTER_SETTLEMENT),
      uint256("settledAmount", "raw", "Settled amount", AFTER_SETTLEMENT),
      {
        name: "settled",
        type: "bool",
        unit: "none",
        label: "Settled",
        ...AFTER_SETTLEMENT,
      },
    ],
    resultName: "VaultRound",
    key: "round",
    task: "round",
    title: "Latest round",
    description: "Show the latest round of the vault",
  },

  /**
   * Reads one order.
   *
   * Protocol, sections 2.3 and 4.2, operation 3. The scales of an order's
   * numbers are not documented. What a contract answers for an id that does
   * not exist is not documented either. `orderID` is 0 to 2^256 - 1. Compare
   * `state` with `OrderState`, and `contractType` with `ContractType`.
   *
   * @returns Thirteen fields, unscaled.
   *
   * @example
   * ```ts
   * await vault.getOrderInfo(1n);
   * // {
   * //   exType: 'BTC-USDT',
   * //   holder: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
   * //   number: 2000000000000000000n,
   * //   exFee: 10000000000000000n,
   * //   lockFee: 5000000000000000n,
   * //   newLockFee: 1000000000000000n,
   * //   openPrice: 64000000000000000000000n,
   * //   marginAmount: 12800000000000000000000n,
   * //   marginFee: 128000000000000000000n,
   * //   startTime: 1700000000n,
   * //   closePrice: 0n,
   * //   contractType: 1,
   * //   state: 1
   * // }
   * ```
   */
  getOrderInfo: {
    row: 3,
    kind: "read",
    selector: "0xd311636b",
    target: "trading",
    inputs: [uint256("orderID", "none", "Order id", { option: "id" })],
    outputs: [
      { name: "exType", type: "string", unit: "none", label: "Pair" },
      { name: "holder", type: "address", unit: "none", label: "Holder" },
      uint256("number", "raw", "Open positions"),
      uint256("exFee", "raw", "Opening fee"),
      uint256("lockFee", "raw", "Accumulated position fee"),
      uint256("newLockFee", "raw", "Next position fee"),
      uint256("openPrice", "raw", "Opening price"),
      uint256("marginAmount", "raw", "Margin"),
      uint256("marginFee", "raw", "Liquidation fee"),
      { ...uint256("startTime", "raw", "Opened"), isLikelyTime: true },
      uint256("closePrice", "raw", "Closing price"),
      {
        name: "contractType",
        type: "uint8",
        unit: "contractType",
        label: "Direction",
        note: "The protocol lists these numbers for the funding fee rate alone",
      },
      { name: "state", type: "uint8", unit: "orderState", label: "State" },
    ],
    resultName: "VaultOrder",
    key: "order",
    task: "order",
    title: "Order",
    description: "Show one order",
  },

  /**
   * Calculates the margins to pay for the next round.
   *
   * Protocol, section 4.2, operation 4. `maxVolume`: real value times 1E(token
   * precision); `APY`: times 1E18 (1E18 is 100%); `endTime`: end of the next
   * round, Unix seconds.
   *
   * @returns Both margins, unscaled; their scale is not documented.
   *
   * @example
   * ```ts
   * await vault.calMargins({
   *   maxVolume: 1_000_000n * 10n ** 18n,
   *   APY: 12n * 10n ** 16n,
   *   endTime: 1_800_000_000n,
   * });
   * // {
   * //   baseMarginAmount: 52500000000000000000000n,
   * //   xMarginAmount: 10500000000000000000000n
   * // }
   * ```
   */
  calMargins: {
    row: 4,
    kind: "read",
    selector: "0xb6624fb0",
    target: "vault",
    inputs: [
      uint256("maxVolume", "token", "Maximum volume of the next round", {
        option: "maxVolume",
      }),
      uint256("APY", "percent", "APY of the next round", { option: "apy" }),
      uint256("endTime", "timestamp", "End of the next round", {
        option: "endTime",
      }),
    ],
    outputs: [
      uint256("baseMarginAmount", "raw", "Base token margin to pay"),
      uint256("xMarginAmount", "raw", "X token margin to pay"),
    ],
    resultName: "MarginAmounts",
    key: "margins",
    task: "margins",
    title: "Margins to pay",
    description: "Calculate the margins to pay for the next round",
  },

  /**
   * Reads the amounts of one liquidity pool.
   *
   * Protocol, sections 2.2 and 4.2, operations 5 and 6 (one function of two
   * contracts). `pool` is "public" or "private".
   *
   * @returns `deposit`, `availabe` (spelled so on the wire) and `locked`,
   * unscaled; their scale is not documented.
   *
   * @example
   * ```ts
   * await vault.getLPAmountInfo("public");
   * // {
   * //   deposit: 5000000000000000000000000n,
   * //   availabe: 3750000000000000000000000n,
   * //   locked: 1250000000000000000000000n
   * // }
   * ```
   */
  getLPAmountInfo: {
    row: 5,
    kind: "read",
    selector: "0x53ac2d24",
    target: { public: "publicPool", private: "privatePool" },
    targetName: "pool",
    inputs: [],
    outputs: [
      uint256("deposit", "raw", "Deposited"),
      uint256("availabe", "raw", "Available", {
        note: "Spelled so on the wire",
      }),
      uint256("locked", "raw", "Locked"),
    ],
    resultName: "PoolAmounts",
    key: "pools",
    task: "pools",
    title: "Liquidity pools",
    description: "Show the amounts of both liquidity pools",
  },

  /**
   * Reads the vault's volume.
   *
   * Protocol, section 4.2, operation 7.
   *
   * @returns The volume, unscaled; its scale is not documented.
   *
   * @example
   * ```ts
   * await vault.queryVolume();
   * // 420000000000000000000n
   * ```
   */
  queryVolume: {
    row: 7,
    kind: "read",
    selector: "0xa69590a8",
    target: "vault",
    inputs: [],
    outputs: [uint256("volume", "raw", "Volume")],
    key: "volume",
    task: "volume",
    title: "Volume",
    description: "Show the volume of the vault",
  },

  /**
   * Reads the margins that can be withdrawn from the vault.
   *
   * Protocol, sections 2.5 and 4.2, operation 8.
   *
   * @returns Both margins, unscaled; their scale is not documented.
   *
   * @example
   * ```ts
   * await vault.queryMarginBalance();
   * // {
   * //   baseMarginAmount: 4200000000000000000000n,
   * //   xMarginAmount: 840000000000000000000n
   * // }
   * ```
   */
  queryMarginBalance: {
    row: 8,
    kind: "read",
    selector: "0xea17f924",
    target: "vault",
    inputs: [],
    outputs: [
      uint256("baseMarginAmount", "raw", "Withdrawable base token margin"),
      uint256("xMarginAmount", "raw", "Withdrawable X token margin"),
    ],
    resultName: "MarginAmounts",
    key: "marginBalance",
    task: "margin-balance",
    title: "Margin balance",
    description: "Show the margins that can be withdrawn from the vault",
  },

  /**
   * Reads the X token margin to pay when issuing a vault.
   *
   * Protocol, section 4.2, operation 9. On the wire the function is
   * `minSLDMargin()`: the documented selector is that name's.
   *
   * @returns The margin, unscaled; its scale is not documented.
   *
   * @example
   * ```ts
   * await vault.minXMargin();
   * // 1000000000000000000000n
   * ```
   */
  minXMargin: {
    row: 9,
    kind: "read",
    functionName: "minSLDMargin",
    selector: "0x789f4b5a",
    target: "vaultFactory",
    inputs: [],
    outputs: [uint256("minXMargin", "raw", "Minimum X token margin")],
    key: "minXMargin",
    task: "min-margin",
    title: "Minimum X margin",
    description: "Show the X token margin to pay when issuing a vault",
  },

  /**
   * Settles the vault's current round, whichever that is when the transaction
   * is mined.
   *
   * Protocol, section 4.2, operation 10 and note 5. State-changing, no value,
   * returns nothing; preconditions and caller restrictions are not documented.
   */
  settleAll: {
    row: 10,
    kind: "transaction",
    selector: "0xa015aefe",
    target: "vault",
    inputs: [],
    outputs: [],
    key: "settlement",
    task: "settle",
    title: "Settlement",
    description: "Settle the current round of the vault",
  },
} as const satisfies Readonly<Record<string, Operation>>;

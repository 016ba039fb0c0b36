import type {
  CalMarginsParameters,
  ContractTypeName,
  MarginAmounts,
  OrderStateName,
  StandaloneReadings,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";
import type { ScriptedFailure } from "./failure.js";

export type {
  FailureCondition,
  ScriptedFailure,
  ScriptedReason,
} from "./failure.js";

/** An order for the mock; `contractType` and `state` take a number or a word. */
export type MockOrder = Readonly<
  Omit<VaultOrder, "holder" | "contractType" | "state"> & {
    holder: string;
    contractType: number | ContractTypeName;
    state: number | OrderStateName;
  }
>;

/** A round without the values that a settlement writes. */
export type NextRound = Readonly<
  Omit<VaultRound, "settledPrice" | "settledAmount" | "settled">
>;

/** The tokens that `settleAll` pays its caller. */
export interface ScriptedReward {
  /** An ERC-20 that the vault has enough of. Default: a token of the mock. */
  readonly token?: string | undefined;
  /** Unscaled. The mock's own token has 18 decimals. */
  readonly amount: bigint | number;
}

/** The values that `settleAll` writes to the round, its conditions, and what it pays. */
export type ScriptedSettlement = Readonly<
  Pick<VaultRound, "settledPrice" | "settledAmount">
> & {
  /** True: a round that has not ended reverts with `RoundHasNotEnded`. */
  readonly notBeforeEnd: boolean;
  /**
   * True: the price is set before, as `round.settledPrice`, and kept. A round without one
   * reverts with `PriceNotSet`, one below its strike price with `PriceBelowStrike`.
   */
  readonly needsPrice: boolean;
  /** Null: it pays nothing. */
  readonly reward: ScriptedReward | null;
};

/**
 * What `getOrderInfo` does for an id that no order ever had: all values are zero; it reverts
 * with `OrderNotFound`; or it uses up all gas of the call (the opcode INVALID), as an array
 * access out of bounds does before Solidity 0.8.
 */
export type UnknownOrders = "zeros" | "revert" | "invalid";

/** The result of `calMargins` for some terms. An omitted term matches any number. */
export type MarginsOfTerms = Readonly<
  MarginAmounts & Partial<CalMarginsParameters>
>;

/** Everything that the six mocks return, unscaled. */
export interface MockState extends Readonly<StandaloneReadings> {
  /**
   * The result of `calMargins` for any arguments, or a list of results by arguments: the
   * first that matches counts, and other arguments revert with `UnexpectedTerms`.
   */
  readonly margins: Readonly<MarginAmounts> | readonly MarginsOfTerms[];
  /** Orders by their id; null for one that was removed, whose values are zero. */
  readonly orders: Readonly<Record<string, Readonly<VaultOrder> | null>>;
  /** Ids whose orders the mock computes with `MockTrading`; null for none. */
  readonly generatedOrders: {
    readonly firstId: bigint;
    readonly lastId: bigint;
  } | null;
  readonly unknownOrders: UnknownOrders;
  readonly settlement: ScriptedSettlement;
  /** Operations that revert until `succeed(operation)`. */
  readonly failures: readonly ScriptedFailure[];
}

type PartOf<Value> = Value extends object
  ? { readonly [Key in keyof Value]?: PartOf<Value[Key]> }
  : Value;

/** Changes to any fields of a {@link MockState}. Integers are unscaled. */
export interface MockOverrides extends PartOf<StandaloneReadings> {
  readonly unknownOrders?: UnknownOrders;
  readonly settlement?: Partial<ScriptedSettlement>;
  readonly margins?: Partial<MarginAmounts> | readonly MarginsOfTerms[];
  /**
   * Orders by id; null removes one: its values are zero then. Omitted fields of a new order are those of
   * order 1 of `open-round`.
   */
  readonly orders?: {
    readonly [Id in number | `${bigint}`]?: Partial<MockOrder> | null;
  };
  /** First and last id of the orders that the mock computes, both included. */
  readonly generatedOrders?: {
    readonly firstId: bigint | number;
    readonly lastId: bigint | number;
  } | null;
  /** Failures; in `deployMocks()` they replace those of the scenario. */
  readonly failures?: readonly ScriptedFailure[];
}

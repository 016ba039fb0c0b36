import type {
  ContractTypeName,
  MarginAmounts,
  OperationName,
  OrderStateName,
  PoolName,
  StandaloneReadings,
  VaultOrder,
  VaultRound,
} from "../protocol/index.js";

/** An order for the mock: words stand for the numbers of enumerations. */
export type MockOrder = Readonly<
  Omit<VaultOrder, "contractType" | "state"> & {
    contractType: number | ContractTypeName;
    state: number | OrderStateName;
  }
>;

/** A round that is not settled: the values that settling does not write. */
export type NextRound = Readonly<
  Omit<VaultRound, "settledPrice" | "settledAmount" | "settled">
>;

/** What `settleAll` writes to the round. */
export type ScriptedSettlement = Readonly<
  Pick<VaultRound, "settledPrice" | "settledAmount">
>;

/** Everything the six mocks answer; values unscaled. */
export interface MockState extends Readonly<StandaloneReadings> {
  /** What `calMargins` answers, whatever its arguments. */
  readonly margins: Readonly<MarginAmounts>;
  /** Orders by their id; null for one of `generatedOrders` that is missing. */
  readonly orders: ReadonlyMap<bigint, Readonly<VaultOrder> | null>;
  /** Ids whose orders the mock computes; see `generatedOrder`. */
  readonly generatedOrders: {
    readonly firstId: bigint;
    readonly lastId: bigint;
  } | null;
  /** Whether an order that is not there reverts; else it is all zeros. */
  readonly missingOrdersRevert: boolean;
  readonly settlement: ScriptedSettlement;
  /** Operations that revert, until `succeed(operation)`. */
  readonly failures: readonly ScriptedFailure[];
}

/**
 * Why a mock is to revert:
 *
 * - a string: `Error(string)`, as `require(false, "…")` gives
 * - `panic`: `Panic(uint256)`, as 0x11 for an arithmetic overflow
 * - `customError`: one of the mocks' own by its name, or any other by its
 *   signature, as in `"Paused(address account)"`
 * - `data`: the revert data itself, 0x hex; `"0x"` for a revert without reason
 */
export type ScriptedReason =
  | string
  | { readonly panic: bigint | number }
  | { readonly customError: string; readonly args?: readonly unknown[] }
  | { readonly data: string };

export interface ScriptedFailure {
  readonly operation: OperationName;
  /** The one pool that fails; both unless given. */
  readonly pool?: PoolName | undefined;
  readonly reason: ScriptedReason;
}

/** Any part of a value, field by field. */
type PartOf<Value> = Value extends object
  ? { readonly [Key in keyof Value]?: PartOf<Value[Key]> }
  : Value;

/**
 * Changes to a scenario, by the names of {@link MockState}: every field can be
 * named alone. Integers are unscaled.
 */
export interface MockOverrides extends PartOf<
  Omit<MockState, "orders" | "generatedOrders" | "failures">
> {
  /**
   * Orders by id, null for none. What is not named is as the scenario has it;
   * of an order that it does not have, as in order 1 of `open-round`.
   */
  readonly orders?: {
    readonly [Id in number | `${bigint}`]?: Partial<MockOrder> | null;
  };
  /** First and last id, included, of the orders that the mock computes. */
  readonly generatedOrders?: {
    readonly firstId: bigint | number;
    readonly lastId: bigint | number;
  } | null;
  /** What reverts, in place of the scenario's. */
  readonly failures?: readonly ScriptedFailure[];
}

import type {
  ContractTypeName,
  MarginAmounts,
  OrderInfo,
  PoolAmounts,
  PoolName,
  VaultRound,
} from "../protocol/index.js";

/** An order of the mock; `exType` as bytes can hold what is not UTF-8. */
export type MockOrder = Readonly<
  Omit<OrderInfo, "exType"> & { exType: string | Uint8Array }
>;

/** A round that is not settled: the values that settling does not write. */
export type NextRound = Readonly<
  Omit<VaultRound, "settledPrice" | "settledAmount" | "settled">
>;

/** What `settleAll` writes to the round. */
export interface ScriptedSettlement {
  /** Real value times 1E18. */
  readonly settledPrice: bigint;
  /** Scale not documented. */
  readonly settledAmount: bigint;
}

/** Everything the six mocks answer; values unscaled, as on the wire. */
export interface MockState {
  readonly fundingFeeRate: Readonly<Record<ContractTypeName, bigint>>;
  readonly pools: Readonly<Record<PoolName, Readonly<PoolAmounts>>>;
  readonly round: Readonly<VaultRound>;
  /** Orders by their id. */
  readonly orders: ReadonlyMap<bigint, MockOrder>;
  /** Ids whose orders the mock computes; see `generatedOrder`. */
  readonly generatedOrders: {
    readonly firstId: bigint;
    readonly lastId: bigint;
  } | null;
  readonly margins: Readonly<MarginAmounts>;
  readonly marginBalance: Readonly<MarginAmounts>;
  readonly volume: bigint;
  readonly minXMargin: bigint;
  readonly settlement: ScriptedSettlement;
}

/** Changes to a scenario: every field of every value can be named alone. */
export interface MockOverrides {
  readonly fundingFeeRate?: Partial<MockState["fundingFeeRate"]>;
  readonly pools?: { readonly [Pool in PoolName]?: Partial<PoolAmounts> };
  readonly round?: Partial<VaultRound>;
  /** Orders by id: a whole order, or changes to one that the scenario has. */
  readonly orders?: Readonly<Record<string, Partial<MockOrder>>>;
  readonly generatedOrders?: MockState["generatedOrders"];
  readonly margins?: Partial<MarginAmounts>;
  readonly marginBalance?: Partial<MarginAmounts>;
  readonly volume?: bigint;
  readonly minXMargin?: bigint;
  readonly settlement?: Partial<ScriptedSettlement>;
}

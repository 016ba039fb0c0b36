import type {
  AddressResolver,
  ContractAddresses,
} from "../client/addresses.js";
import type { ReadOptions, VaultReader, VaultReads } from "../client/reader.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { VaultContracts } from "../client/vault-client.js";
import type {
  ContractTypeName,
  MarginAmounts,
  OperationName,
  OrderStateName,
  VaultOrder,
  PoolAmounts,
  PoolName,
  StandaloneReadings,
  VaultRound,
} from "../protocol/index.js";
import type { RpcClient } from "../rpc/node.js";

/**
 * What mocks need of the vault that they stand behind, be it a `VaultClient`
 * over any provider; and of Hardhat's, what it knows of its connection.
 */
export interface MockHost
  extends
    VaultReads,
    Pick<
      VaultReader,
      "provider" | "networkName" | "addressOf" | "read" | "block" | "chainId"
    > {
  readonly contracts: VaultContracts;
  /** @internal What is asked of the node itself. */
  readonly rpc: RpcClient;
  /** @internal See {@link VaultReader.readContext}. */
  readContext: VaultReader["readContext"];
  snapshot(options?: ReadOptions): Promise<VaultSnapshot>;
  at(contracts: ContractAddresses, source?: string): MockHost;
  /** Another set of contracts on the same network has mocks of its own. */
  readonly instanceName?: string | undefined;
  readonly connection?: {
    readonly networkConfig: {
      readonly type: string;
      readonly from?: string | undefined;
    };
  };
  /** @internal Whose root is where relative paths begin. */
  readonly context?: {
    readonly config: { readonly paths: { readonly root: string } };
  };
  /** @internal From now on whoever has this vault looks here first. */
  bind?(addresses: AddressResolver): void;
}

/** Whether the chain lives in this process, with nobody else on it. */
export function isInProcess({
  connection,
}: Pick<MockHost, "connection">): boolean {
  return connection?.networkConfig.type === "edr-simulated";
}

/** An order of the mock; `exType` as bytes can hold what is not UTF-8. */
export type CheckedOrder = Readonly<
  Omit<VaultOrder, "exType"> & { exType: string | Uint8Array }
>;

/** An order for the mock: words stand for the numbers of enumerations. */
export type MockOrder = Readonly<
  Omit<CheckedOrder, "contractType" | "state"> & {
    contractType: number | ContractTypeName;
    state: number | OrderStateName;
  }
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

/** The fields of a {@link ScriptedSettlement}. */
export const settlementFields: ReadonlyArray<keyof ScriptedSettlement> = [
  "settledPrice",
  "settledAmount",
];

/** The fields of a {@link NextRound}. */
export const nextRoundFields: ReadonlyArray<keyof NextRound> = [
  "strikePrice",
  "APY",
  "maxVolume",
  "filledVolume",
  "minDeposit",
  "startTime",
  "endTime",
];

/** What the mocks answer alike whatever they are asked. */
export interface MockAnswers extends Readonly<StandaloneReadings> {
  /** What `calMargins` answers. */
  readonly margins: Readonly<MarginAmounts>;
}

/** Everything the six mocks answer; values unscaled, as on the wire. */
export interface MockState extends MockAnswers {
  /** Orders by their id; null for one of `generatedOrders` that is missing. */
  readonly orders: ReadonlyMap<bigint, CheckedOrder | null>;
  /** Ids whose orders the mock computes; see `generatedOrder`. */
  readonly generatedOrders: {
    readonly firstId: bigint;
    readonly lastId: bigint;
  } | null;
  /** Whether an order that is not there reverts; else it is all zeros. */
  readonly missingOrdersRevert: boolean;
  /** What `settleAll` writes to this round. */
  readonly settlement: ScriptedSettlement;
  /** Whether it writes that to all that follow, too. */
  readonly settlementScripted?: boolean;
  /** Readings and operations that revert, until `succeed(operation)`. */
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

/** An operation that reverts. */
export interface ScriptedFailure {
  readonly operation: OperationName;
  /** The one pool that fails; both unless given. */
  readonly pool?: PoolName | undefined;
  readonly reason: ScriptedReason;
}

/** An order's id as the key of an object: a number, or decimal digits. */
export type OrderKey = number | `${bigint}`;

/**
 * Changes to a scenario: every field of every value can be named alone. Integers
 * are unscaled, as on the wire.
 */
export interface MockOverrides {
  /** For `call` and `put`; real value times 1E8. */
  readonly fundingFeeRate?: Partial<MockState["fundingFeeRate"]>;
  /** For `public` and `private`; the scale of the amounts is not documented. */
  readonly pools?: { readonly [Pool in PoolName]?: Partial<PoolAmounts> };
  /** The latest round; `VaultRound` has the scale of each field. */
  readonly round?: Partial<VaultRound>;
  /**
   * Orders by id, null for none. What is not named is as the scenario has it;
   * of an order that it does not have, as in order 1 of `open-round`. The scale
   * of an order's numbers is not documented.
   */
  readonly orders?: { readonly [Id in OrderKey]?: Partial<MockOrder> | null };
  /** Whether an order that is not there reverts; else it is all zeros. */
  readonly missingOrdersRevert?: boolean;
  /** First and last id, included, of the orders that the mock computes. */
  readonly generatedOrders?: {
    readonly firstId: bigint | number;
    readonly lastId: bigint | number;
  } | null;
  /** What `calMargins` answers; its scale is not documented. */
  readonly margins?: Partial<MarginAmounts>;
  /** What `queryMarginBalance` answers; its scale is not documented. */
  readonly marginBalance?: Partial<MarginAmounts>;
  /** What `queryVolume` answers; its scale is not documented. */
  readonly volume?: bigint;
  /** In the X token; its scale is not documented. */
  readonly minXMargin?: bigint;
  /** What `settleAll` writes to the round. */
  readonly settlement?: Partial<ScriptedSettlement>;
  /** What reverts, in place of the scenario's. */
  readonly failures?: readonly ScriptedFailure[];
}

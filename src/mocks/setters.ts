import { MockLiquidityPool__factory } from "../bindings/factories/MockLiquidityPool__factory.js";
import { MockTrading__factory } from "../bindings/factories/MockTrading__factory.js";
import { MockUnderlyingAsset__factory } from "../bindings/factories/MockUnderlyingAsset__factory.js";
import { MockVaultFactory__factory } from "../bindings/factories/MockVaultFactory__factory.js";
import { MockVault__factory } from "../bindings/factories/MockVault__factory.js";
import { assertInvariant } from "../errors.js";
import { ContractType, operationEntry, targetsOf } from "../protocol/index.js";
import type {
  ContractRole,
  OperationName,
  PoolAmounts,
  PoolName,
  VaultRound,
} from "../protocol/index.js";
import type { MockTransaction } from "./mock-sender.js";
import { encodeRevertData } from "./failure.js";
import type {
  MockOrder,
  MockState,
  NextRound,
  ScriptedFailure,
} from "./types.js";

/** The factory of each role's mock. */
export const mockFactories = {
  underlyingAsset: MockUnderlyingAsset__factory,
  publicPool: MockLiquidityPool__factory,
  privatePool: MockLiquidityPool__factory,
  trading: MockTrading__factory,
  vaultFactory: MockVaultFactory__factory,
  vault: MockVault__factory,
} as const satisfies Record<ContractRole, unknown>;

/** Addresses of the six mocks. */
export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

/** One call of a script: which mock, and what it is told. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

const asset = MockUnderlyingAsset__factory.createInterface();
const pool = MockLiquidityPool__factory.createInterface();
const trading = MockTrading__factory.createInterface();
const vaultFactory = MockVaultFactory__factory.createInterface();
const vault = MockVault__factory.createInterface();

export const calls = {
  reset: (role: ContractRole): ScriptCall => ({
    role,
    data: vault.encodeFunctionData("reset"),
  }),
  fundingFeeRate: (contractType: ContractType, rate: bigint): ScriptCall => ({
    role: "underlyingAsset",
    data: asset.encodeFunctionData("setFundingFeeRate", [contractType, rate]),
  }),
  pool: (
    role: "publicPool" | "privatePool",
    { deposit, availabe, locked }: Readonly<PoolAmounts>,
  ): ScriptCall => ({
    role,
    data: pool.encodeFunctionData("setLPAmountInfo", [
      deposit,
      availabe,
      locked,
    ]),
  }),
  orders: (orders: ReadonlyMap<bigint, MockOrder>): ScriptCall => ({
    role: "trading",
    data: trading.encodeFunctionData("setOrders", [
      [...orders.keys()],
      [...orders.values()].map((order) => ({
        ...order,
        exType:
          typeof order.exType === "string"
            ? // A lone surrogate becomes U+FFFD; ethers would throw.
              new TextEncoder().encode(order.exType)
            : order.exType,
      })),
    ]),
  }),
  removeOrder: (orderID: bigint): ScriptCall => ({
    role: "trading",
    data: trading.encodeFunctionData("removeOrder", [orderID]),
  }),
  generateOrders: (firstId: bigint, lastId: bigint): ScriptCall => ({
    role: "trading",
    data: trading.encodeFunctionData("generateOrders", [firstId, lastId]),
  }),
  missingOrdersRevert: (reverts: boolean): ScriptCall => ({
    role: "trading",
    data: trading.encodeFunctionData("setMissingOrdersRevert", [reverts]),
  }),
  round: (round: Readonly<VaultRound>): ScriptCall => ({
    role: "vaultFactory",
    data: vaultFactory.encodeFunctionData("setRound", [round]),
  }),
  startNextRound: (round: NextRound): ScriptCall => ({
    role: "vaultFactory",
    data: vaultFactory.encodeFunctionData("startNextRound", [round]),
  }),
  minXMargin: (margin: bigint): ScriptCall => ({
    role: "vaultFactory",
    data: vaultFactory.encodeFunctionData("setMinSLDMargin", [margin]),
  }),
  factory: (address: string): ScriptCall => ({
    role: "vault",
    data: vault.encodeFunctionData("setFactory", [address]),
  }),
  margins: ({
    baseMarginAmount,
    xMarginAmount,
  }: MockState["margins"]): ScriptCall => ({
    role: "vault",
    data: vault.encodeFunctionData("setMargins", [
      baseMarginAmount,
      xMarginAmount,
    ]),
  }),
  marginBalance: ({
    baseMarginAmount,
    xMarginAmount,
  }: MockState["marginBalance"]): ScriptCall => ({
    role: "vault",
    data: vault.encodeFunctionData("setMarginBalance", [
      baseMarginAmount,
      xMarginAmount,
    ]),
  }),
  volume: (volume: bigint): ScriptCall => ({
    role: "vault",
    data: vault.encodeFunctionData("setVolume", [volume]),
  }),
  settlement: ({
    settledPrice,
    settledAmount,
  }: MockState["settlement"]): ScriptCall => ({
    role: "vault",
    data: vault.encodeFunctionData("setSettlement", [
      settledPrice,
      settledAmount,
    ]),
  }),
  fail: ({ operation, pool: name, reason }: ScriptedFailure): ScriptCall[] => {
    const data = vault.encodeFunctionData("setRevert", [
      operationEntry(operation).selector,
      encodeRevertData(reason),
    ]);
    return rolesOf(operation, name).map((role) => ({ role, data }));
  },
  succeed: (operation: OperationName, name?: PoolName): ScriptCall[] => {
    const data = vault.encodeFunctionData("clearRevert", [
      operationEntry(operation).selector,
    ]);
    return rolesOf(operation, name).map((role) => ({ role, data }));
  },
};

/** The contracts that have an operation, or the one that is named. */
function rolesOf(
  operation: OperationName,
  name: PoolName | undefined,
): ContractRole[] {
  return targetsOf(operation)
    .filter(({ variant }) => name === undefined || variant === name)
    .map(({ role }) => role);
}

/** How many orders one call sets: about 300,000 gas each. */
const ORDERS_PER_CALL = 20;

/** Sets and removes orders, in calls small enough to share a transaction. */
export function callsForOrders(orders: MockState["orders"]): ScriptCall[] {
  const set: Array<[bigint, MockOrder]> = [];
  const removed: bigint[] = [];
  for (const [orderID, order] of orders) {
    if (order === null) {
      removed.push(orderID);
    } else {
      set.push([orderID, order]);
    }
  }
  const chunks: ScriptCall[] = [];
  for (let at = 0; at < set.length; at += ORDERS_PER_CALL) {
    chunks.push(calls.orders(new Map(set.slice(at, at + ORDERS_PER_CALL))));
  }
  return [...chunks, ...removed.map(calls.removeOrder)];
}

/** The calls that bring fresh mocks into a state. */
export function callsForState(
  state: MockState,
  { vaultFactory: factory }: MockAddresses,
): ScriptCall[] {
  return [
    calls.fundingFeeRate(ContractType.CALL, state.fundingFeeRate.call),
    calls.fundingFeeRate(ContractType.PUT, state.fundingFeeRate.put),
    calls.pool("publicPool", state.pools.public),
    calls.pool("privatePool", state.pools.private),
    ...callsForOrders(state.orders),
    ...(state.generatedOrders === null
      ? []
      : [
          calls.generateOrders(
            state.generatedOrders.firstId,
            state.generatedOrders.lastId,
          ),
        ]),
    ...(state.missingOrdersRevert ? [calls.missingOrdersRevert(true)] : []),
    calls.round(state.round),
    calls.minXMargin(state.minXMargin),
    calls.factory(factory),
    calls.margins(state.margins),
    calls.marginBalance(state.marginBalance),
    calls.volume(state.volume),
    calls.settlement(state.settlement),
    ...state.failures.flatMap(calls.fail),
  ];
}

/**
 * How much call data one transaction takes. A word of it is at most one word
 * of storage, about 23,000 gas, and a transaction has at most 16.7 million.
 */
const BYTES_PER_TRANSACTION = 500 * 32;

/** The transactions that make the calls, in order and as few as fit. */
export function encodeScript(
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): MockTransaction[] {
  const batches: ScriptCall[][] = [];
  let room = 0;
  for (const call of script) {
    const size = (call.data.length - 2) / 2;
    const last = batches.at(-1);
    if (last === undefined || size > room) {
      batches.push([call]);
      room = BYTES_PER_TRANSACTION - size;
    } else {
      last.push(call);
      room -= size;
    }
  }
  return batches.map((batch) => encodeBatch(addresses, batch));
}

/** Any mock runs a script for all of them: here, the first that is called. */
function encodeBatch(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): MockTransaction {
  const [first] = batch;
  assertInvariant(first !== undefined, "an empty batch of a script");
  return {
    to: addresses[first.role],
    data:
      batch.length === 1
        ? first.data
        : vault.encodeFunctionData("script", [
            batch.map(({ role, data }) => ({ target: addresses[role], data })),
          ]),
  };
}

import { toUtf8Bytes } from "ethers";

import { MockLiquidityPool__factory } from "../bindings/factories/MockLiquidityPool__factory.js";
import { MockTrading__factory } from "../bindings/factories/MockTrading__factory.js";
import { MockUnderlyingAsset__factory } from "../bindings/factories/MockUnderlyingAsset__factory.js";
import { MockVaultFactory__factory } from "../bindings/factories/MockVaultFactory__factory.js";
import { MockVault__factory } from "../bindings/factories/MockVault__factory.js";
import { ContractType } from "../protocol/index.js";
import type {
  ContractRole,
  PoolAmounts,
  VaultRound,
} from "../protocol/index.js";
import type { MockOrder, MockState, NextRound } from "./types.js";

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
export type MockAddresses = Readonly<Record<ContractRole, string>>;

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
            ? toUtf8Bytes(order.exType)
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
  revert: (role: ContractRole, selector: string, data: string): ScriptCall => ({
    role,
    data: vault.encodeFunctionData("setRevert", [selector, data]),
  }),
  clearRevert: (role: ContractRole, selector: string): ScriptCall => ({
    role,
    data: vault.encodeFunctionData("clearRevert", [selector]),
  }),
};

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
    ...(state.orders.size === 0 ? [] : [calls.orders(state.orders)]),
    ...(state.generatedOrders === null
      ? []
      : [
          calls.generateOrders(
            state.generatedOrders.firstId,
            state.generatedOrders.lastId,
          ),
        ]),
    calls.round(state.round),
    calls.minXMargin(state.minXMargin),
    calls.factory(factory),
    calls.margins(state.margins),
    calls.marginBalance(state.marginBalance),
    calls.volume(state.volume),
    calls.settlement(state.settlement),
  ];
}

/** The transaction that makes several calls at once, sent to the mock vault. */
export function encodeScript(
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): { to: string; data: string } {
  return {
    to: addresses.vault,
    data: vault.encodeFunctionData("script", [
      script.map(({ role, data }) => ({ target: addresses[role], data })),
    ]),
  };
}

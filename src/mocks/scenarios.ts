import { ContractType, OrderState } from "../protocol/index.js";
import type { PoolAmounts, VaultOrder } from "../protocol/index.js";
import type { MockState } from "./types.js";

const ONE = 10n ** 18n;
const DAY_SECONDS = 86_400n;

/** Order 1 of `open-round`, and the defaults of an order in `overrides`. */
export const someOrder: Readonly<VaultOrder> = {
  exType: "BTC-USDT",
  holder: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  number: 2n * ONE,
  exFee: ONE / 100n,
  lockFee: ONE / 200n,
  newLockFee: ONE / 1_000n,
  openPrice: 64_000n * ONE,
  marginAmount: 12_800n * ONE,
  marginFee: 128n * ONE,
  startTime: 1_700_000_000n,
  closePrice: 0n,
  contractType: ContractType.call,
  state: OrderState.open,
};

const orders: MockState["orders"] = {
  1: someOrder,
  2: {
    ...someOrder,
    exType: "ETH-USDT",
    holder: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    number: 15n * ONE,
    openPrice: 3_200n * ONE,
    marginAmount: 4_800n * ONE,
    marginFee: 48n * ONE,
    startTime: 1_700_003_600n,
    contractType: ContractType.put,
  },
  3: {
    ...someOrder,
    openPrice: 61_500n * ONE,
    startTime: 1_699_900_000n,
    closePrice: 63_250n * ONE,
    state: OrderState.closed,
  },
};

/** Never below zero: a test may start its chain at any time. */
function before(chainTime: bigint, seconds: bigint): bigint {
  return chainTime > seconds ? chainTime - seconds : 0n;
}

function pool(deposit: bigint, locked: bigint): PoolAmounts {
  return { deposit, availabe: deposit - locked, locked };
}

/** The base of the other scenarios. */
function openRound(chainTime: bigint): MockState {
  return {
    fundingFeeRate: { call: 25_000n, put: 17_500n },
    pools: {
      public: pool(5_000_000n * ONE, 1_250_000n * ONE),
      private: pool(1_200_000n * ONE, 300_000n * ONE),
    },
    round: {
      strikePrice: 65_000n * ONE,
      APY: (185n * ONE) / 1_000n,
      maxVolume: 1_000n * ONE,
      filledVolume: 420n * ONE,
      minDeposit: ONE / 10n,
      startTime: before(chainTime, 2n * DAY_SECONDS),
      endTime: chainTime + 5n * DAY_SECONDS,
      settledPrice: 0n,
      settledAmount: 0n,
      settled: false,
    },
    orders,
    generatedOrders: null,
    unknownOrders: "zeros",
    margins: {
      baseMarginAmount: 52_500n * ONE,
      xMarginAmount: 10_500n * ONE,
    },
    marginBalance: {
      baseMarginAmount: 4_200n * ONE,
      xMarginAmount: 840n * ONE,
    },
    volume: 420n * ONE,
    minXMargin: 1_000n * ONE,
    settlement: {
      settledPrice: 66_250n * ONE,
      settledAmount: 3n,
      notBeforeEnd: false,
      needsPrice: false,
      reward: null,
    },
    failures: [],
  };
}

/** Makes the state of the mocks from the time of the chain, in Unix seconds. */
export type Scenario = (chainTime: bigint) => MockState;

function changed(
  base: Scenario,
  change: (state: MockState, chainTime: bigint) => Partial<MockState>,
): Scenario {
  return (chainTime) => {
    const state = base(chainTime);
    return { ...state, ...change(state, chainTime) };
  };
}

const expiredRound = changed(openRound, ({ round }, chainTime) => ({
  round: {
    ...round,
    startTime: before(chainTime, 8n * DAY_SECONDS),
    endTime: before(chainTime, DAY_SECONDS),
  },
}));

const deployedOrder = { ...someOrder, exType: "BTCDAI" };
const closedOrder = { ...deployedOrder, closePrice: 63_250n * ONE };

/** Order ids from 0, with a removed one, in every state of the deployed contracts. */
const deployedOrders: MockState["orders"] = {
  0: { ...deployedOrder, state: 0 },
  1: { ...deployedOrder, state: 1 },
  2: { ...closedOrder, state: 2 },
  3: null,
  4: { ...closedOrder, state: 3 },
  5: { ...closedOrder, state: 4 },
};

/**
 * As the protocol's public versions behave: an ended round whose price is set and one order
 * of which is settled, a reward for the caller, and unknown orders that use up the gas.
 */
const asDeployed = changed(expiredRound, ({ round, settlement }) => ({
  round: {
    ...round,
    settledPrice: settlement.settledPrice,
    settledAmount: 1n,
  },
  orders: deployedOrders,
  unknownOrders: "invalid",
  settlement: {
    ...settlement,
    notBeforeEnd: true,
    needsPrice: true,
    reward: { amount: 68n * ONE },
  },
}));

/**
 * The scenarios of the mocks. Times are relative to the clock of the chain, so
 * that an open round is open. A settlement succeeds in each but `settled-round`.
 */
export const scenarios = {
  "open-round": openRound,
  "expired-round": expiredRound,
  "settled-round": changed(
    expiredRound,
    ({ round, settlement: { settledPrice, settledAmount } }) => ({
      round: { ...round, settledPrice, settledAmount, settled: true },
    }),
  ),
  "full-round": changed(openRound, ({ round }) => ({
    round: { ...round, filledVolume: round.maxVolume },
    volume: round.maxVolume,
  })),
  "empty-vault": changed(openRound, ({ round, settlement }) => ({
    round: { ...round, filledVolume: 0n },
    settlement: { ...settlement, settledAmount: 0n },
    orders: {},
    marginBalance: { baseMarginAmount: 0n, xMarginAmount: 0n },
    volume: 0n,
  })),
  "no-liquidity": changed(openRound, () => ({
    pools: { public: pool(0n, 0n), private: pool(0n, 0n) },
  })),
  "many-orders": changed(openRound, ({ settlement }) => ({
    orders: {},
    generatedOrders: { firstId: 1n, lastId: 1_000n },
    settlement: { ...settlement, settledAmount: 1_000n },
  })),
  "as-deployed": asDeployed,
} as const satisfies Readonly<Record<string, Scenario>>;

export type ScenarioName = keyof typeof scenarios;

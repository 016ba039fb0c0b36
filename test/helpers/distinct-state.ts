import type { MockAddresses } from "../../src/mocks/mock-contracts.js";
import type { MockOverrides } from "../../src/mocks/types.js";
import { withOtherReadings } from "./readings.js";

/** Addresses as in a production configuration. */
export const contracts: MockAddresses = {
  underlyingAsset: "0x1111111111111111111111111111111111111111",
  publicPool: "0x2222222222222222222222222222222222222222",
  privatePool: "0x3333333333333333333333333333333333333333",
  trading: "0x4444444444444444444444444444444444444444",
  vaultFactory: "0x5555555555555555555555555555555555555555",
  vault: "0x6666666666666666666666666666666666666666",
};

const MAX = 2n ** 256n - 1n;

export const ORDER_ID = 2n ** 200n + 7n;

const round = {
  strikePrice: 11n,
  APY: 12n,
  maxVolume: 13n,
  filledVolume: 14n,
  minDeposit: 15n,
  startTime: 16n,
  endTime: 17n,
  settledPrice: 18n,
  settledAmount: MAX,
  settled: true,
};

const order = {
  exType: "ÄTH/USDT 🚀 longer than one word",
  holder: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  number: 21n,
  exFee: 22n,
  lockFee: 23n,
  newLockFee: 24n,
  openPrice: 25n,
  marginAmount: 26n,
  marginFee: 27n,
  startTime: 28n,
  closePrice: 29n,
  contractType: 7,
  state: 255,
};

/** What another operation than those below returns. */
const OTHER_VALUE = 47n;

/** A state in which no two values are the same, so that none can be swapped. */
export const distinctState = withOtherReadings(
  {
    fundingFeeRate: { call: 1n, put: 2n },
    pools: {
      public: { deposit: 31n, availabe: 32n, locked: 33n },
      private: { deposit: 34n, availabe: 35n, locked: 36n },
    },
    round,
    orders: { [ORDER_ID.toString()]: order },
    margins: { baseMarginAmount: 41n, xMarginAmount: 42n },
    marginBalance: { baseMarginAmount: 43n, xMarginAmount: 44n },
    volume: 45n,
    minXMargin: 46n,
  } satisfies MockOverrides,
  OTHER_VALUE,
);

const { pools, margins, marginBalance } = distinctState;

/** Every read operation in that state, with every choice it has. */
export const expectedReads = (
  [
    ["getFundingFeeRate", ["call"], 1n],
    ["getFundingFeeRate", [2], 2n],
    ["getLatestRoundInfo", [], round],
    ["getOrderInfo", [ORDER_ID], order],
    ["calMargins", [{ maxVolume: 1n, APY: 2n, endTime: 3n }], margins],
    ["getLPAmountInfo", ["public"], pools.public],
    ["getLPAmountInfo", ["private"], pools.private],
    ["queryVolume", [], 45n],
    ["queryMarginBalance", [], marginBalance],
    ["minXMargin", [], 46n],
  ] as const
).map(([operation, args, expected]) => ({ operation, args, expected }));

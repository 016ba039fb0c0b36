import { MaxUint256 as MAX, ZeroAddress } from "ethers";

import type { MockOrder, MockOverrides } from "../../src/types.js";

const pool = (value: bigint) => ({
  deposit: value,
  availabe: value,
  locked: value,
});

const order = (
  value: bigint,
  others: Pick<MockOrder, "exType" | "holder" | "contractType" | "state">,
): MockOrder => ({
  number: value,
  exFee: value,
  lockFee: value,
  newLockFee: value,
  openPrice: value,
  marginAmount: value,
  marginFee: value,
  startTime: value,
  closePrice: value,
  ...others,
});

/** Texts that break careless output, each the `exType` of one order. */
const oddTexts = [
  "=1+1",
  '"quoted", and\r\nbroken\tlines',
  "\u001b[31mred\u001b[0m\u0007\u0000",
  "right\u202eto\u2066left",
  "比特币-🚀",
];

/** Values that break careless code: zeros, the greatest numbers, odd texts. */
export const extremes: MockOverrides = {
  fundingFeeRate: { call: 0n, put: MAX },
  pools: { public: pool(MAX), private: pool(0n) },
  round: {
    strikePrice: MAX,
    APY: MAX,
    maxVolume: MAX,
    filledVolume: MAX,
    minDeposit: 0n,
    startTime: 0n,
    endTime: MAX,
  },
  orders: {
    0: order(0n, {
      exType: "",
      holder: ZeroAddress,
      contractType: 0,
      state: 0,
    }),
    [`${MAX}`]: order(MAX, {
      exType: "long ".repeat(400),
      holder: `0x${"f".repeat(40)}`,
      contractType: 255,
      state: 255,
    }),
    ...Object.fromEntries(
      oddTexts.map((exType, index) => [index + 1, { exType }]),
    ),
  },
  margins: { baseMarginAmount: MAX, xMarginAmount: 0n },
  marginBalance: { baseMarginAmount: 0n, xMarginAmount: MAX },
  volume: MAX,
  minXMargin: MAX,
  settlement: { settledPrice: MAX, settledAmount: MAX },
};

import { zeroAnswer } from "../../src/mocks/scenarios.js";
import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { scenarios } from "../../src/mocks/index.js";
import type { ScenarioName } from "../../src/mocks/index.js";
import { connectTo } from "../helpers/hre.js";

const ONE = 10n ** 18n;
const MAX = 2n ** 256n - 1n;
const DAY = 86_400n;
const NOW = 1_000_000n;
const names = [
  ...(["open-round", "expired-round", "settled-round", "full-round"] as const),
  ...(["empty-vault", "no-liquidity", "many-orders", "extremes"] as const),
  ...(["as-deployed"] as const),
] satisfies ScenarioName[];

describe("scenarios of the mocks", () => {
  let connection: NetworkConnection;
  before(async () => {
    connection = await connectTo(undefined);
  });
  after(async () => {
    await connection.close();
  });

  it("are those of the documentation", () => {
    expect(Object.keys(scenarios)).to.have.members(names);
  });

  describe("by the time of the chain", () => {
    for (const [name, startsAgo, endsIn] of [
      ["open-round", 2n * DAY, 5n * DAY],
      ["full-round", 2n * DAY, 5n * DAY],
      ["empty-vault", 2n * DAY, 5n * DAY],
      ["no-liquidity", 2n * DAY, 5n * DAY],
      ["many-orders", 2n * DAY, 5n * DAY],
      ["expired-round", 8n * DAY, -DAY],
      ["settled-round", 8n * DAY, -DAY],
      ["as-deployed", 8n * DAY, -DAY],
    ] as const) {
      it(`${name} began ${startsAgo / DAY} days ago and ends in ${endsIn / DAY} days`, () => {
        expect(scenarios[name](NOW).round).to.include({
          startTime: NOW - startsAgo,
          endTime: NOW + endsIn,
        });
      });
    }

    it("no time is below zero on a young chain", () => {
      for (const time of [0n, DAY - 1n, DAY, DAY + 1n, 8n * DAY + 1n]) {
        const { startTime, endTime } = scenarios["expired-round"](time).round;
        expect(startTime).to.equal(time > 8n * DAY ? time - 8n * DAY : 0n);
        expect(endTime).to.equal(time > DAY ? time - DAY : 0n);
      }
    });
  });

  const expected: ReadonlyArray<
    readonly [ScenarioName, string, Readonly<Record<string, unknown>>]
  > = [
    [
      "open-round",
      "has an unsettled round, three orders and liquidity",
      {
        "round.strikePrice": 65_000n * ONE,
        "round.settled": false,
        "round.filledVolume": 420n * ONE,
        "pools.public.deposit": 5_000_000n * ONE,
        "fundingFeeRate.call": 25_000n,
        "marginBalance.xMarginAmount": 840n * ONE,
        "orders.size": 3,
      },
    ],
    [
      "settled-round",
      "has what its settlement writes",
      {
        "round.settled": true,
        "round.settledPrice": 66_250n * ONE,
        "round.settledAmount": 3n,
      },
    ],
    [
      "full-round",
      "has its highest volume",
      { "round.filledVolume": 1_000n * ONE, volume: 1_000n * ONE },
    ],
    [
      "empty-vault",
      "has no volume, margins or orders",
      {
        "round.filledVolume": 0n,
        volume: 0n,
        "marginBalance.baseMarginAmount": 0n,
        "orders.size": 0,
      },
    ],
    [
      "no-liquidity",
      "has nothing in both pools",
      { "pools.public.deposit": 0n, "pools.private.availabe": 0n },
    ],
    [
      "many-orders",
      "computes a thousand orders",
      { generatedOrders: { firstId: 1n, lastId: 1_000n }, "orders.size": 0 },
    ],
    [
      "as-deployed",
      "has a price before its settlement, orders from id 0 on, and a reward",
      {
        "round.settled": false,
        "round.settledPrice": 66_250n * ONE,
        "round.settledAmount": 1n,
        "orders.size": 6,
        "settlement.needsPrice": true,
        "settlement.reward.amount": 68n * ONE,
        unknownOrders: "invalid",
      },
    ],
    [
      "extremes",
      "has the least and the greatest values",
      {
        "round.startTime": 0n,
        "round.endTime": MAX,
        "fundingFeeRate.call": 0n,
        "fundingFeeRate.put": MAX,
        "pools.public.locked": MAX,
        "pools.private.locked": 0n,
        "orders.size": 7,
      },
    ],
  ];
  for (const [name, what, values] of expected) {
    it(`${name} ${what}`, () => {
      const state = scenarios[name](NOW);
      expect(state).to.have.deep.nested.include(values);
      expect(state.failures).to.deep.equal([]);
    });
  }

  it("extremes has an order of zeros, one of the greatest values, and strings that break careless output", () => {
    const { orders } = scenarios.extremes(NOW);
    expect([...orders.keys()]).to.have.members([0n, 1n, 2n, 3n, 4n, 5n, MAX]);
    expect(orders.get(0n)).to.include({ exType: "", number: 0n, state: 0 });
    expect(orders.get(MAX)).to.include({
      ...{ number: MAX, closePrice: MAX, contractType: 255, state: 255 },
    });
    expect(orders.get(MAX)?.exType).to.have.length(2_000);
    for (const [id, ...odd] of [
      [1n, "="],
      [2n, '"', "\r\n", "\t"],
      [3n, "\u001b[31m", "\u0007", "\u0000"],
      [4n, "\u202e", "\u2066"],
      [5n, "比特币", "🚀"],
    ] as const) {
      for (const part of odd) {
        expect(orders.get(id)?.exType).to.contain(part);
      }
      expect(orders.get(id)).to.include({ openPrice: 64_000n * ONE });
    }
  });

  for (const name of names) {
    const isSettled = name === "settled-round";
    it(`${name}: the mocks return its values, and settleAll() ${isSettled ? "has nothing to do" : "settles once as it says"}`, async () => {
      const mocks = await connection.vault.deployMocks({ scenario: name });
      expect(mocks.scenario).to.equal(name);
      const { block, round, ...readings } = await mocks.vault.snapshot();
      const state = scenarios[name](BigInt(block.timestamp));
      const { fundingFeeRate, pools, volume, marginBalance, minXMargin } =
        state;
      const { startTime: _start, endTime: _end, ...terms } = state.round;
      expect(round).to.deep.include(terms);
      expect(readings).to.deep.include({
        ...{ fundingFeeRate, pools, volume, marginBalance, minXMargin },
      });
      for (const [id, order] of state.orders) {
        expect(await mocks.vault.getOrderInfo(id)).to.deep.equal(
          order ?? zeroAnswer("getOrderInfo"),
        );
      }
      const { status, after } = await mocks.vault.settleAll();
      expect(status).to.equal(isSettled ? "nothing-to-do" : "settled");
      if (!isSettled) {
        const { settledPrice, settledAmount } = state.settlement;
        expect(after).to.include({ settledPrice, settledAmount });
      }
      expect(await mocks.settlements()).to.have.length(isSettled ? 0 : 1);
    });
  }
});

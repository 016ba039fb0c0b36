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

  // What each returns is compared with the page: test/docs/reference.ts.
  it("no time is below zero on a young chain", () => {
    for (const time of [0n, DAY - 1n, DAY, DAY + 1n, 8n * DAY + 1n]) {
      const { startTime, endTime } = scenarios["expired-round"](time).round;
      expect(startTime).to.equal(time > 8n * DAY ? time - 8n * DAY : 0n);
      expect(endTime).to.equal(time > DAY ? time - DAY : 0n);
    }
  });

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

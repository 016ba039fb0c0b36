import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { scenarios } from "../../src/mocks/index.js";
import { keysOf } from "../../src/protocol/index.js";
import { connectTo } from "../helpers/hre.js";
import { zeroAnswer } from "../helpers/zero-answer.js";

const DAY = 86_400n;
describe("scenarios of the mocks", () => {
  let connection: NetworkConnection;
  before(async () => {
    connection = await connectTo(undefined);
  });
  after(async () => {
    await connection.close();
  });

  // What each returns is compared with the page: test/docs/reference.ts.
  it("no time is below zero on a young chain", () => {
    for (const time of [0n, DAY - 1n, DAY, DAY + 1n, 8n * DAY + 1n]) {
      const { startTime, endTime } = scenarios["expired-round"](time).round;
      expect(startTime).to.equal(time > 8n * DAY ? time - 8n * DAY : 0n);
      expect(endTime).to.equal(time > DAY ? time - DAY : 0n);
    }
  });

  for (const name of keysOf(scenarios)) {
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
      for (const [id, order] of Object.entries(state.orders)) {
        expect(await mocks.vault.getOrderInfo(BigInt(id))).to.deep.equal(
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

import { expect } from "chai";

import {
  describeOutcome,
  describeRound,
  isSameRound,
} from "../../src/protocol/round.js";
import { describeTime } from "../../src/protocol/time.js";

const round = {
  startTime: 1_800_000_000n,
  endTime: 1_800_604_800n,
  strikePrice: 19_005n * 10n ** 17n,
};

describe("the identity of a round", () => {
  it("a round is the same if start, end and strike price are", () => {
    expect(isSameRound(round, { ...round })).to.equal(true);
    expect(isSameRound(round, { ...round, startTime: 1n })).to.equal(false);
    expect(isSameRound(round, { ...round, endTime: 1n })).to.equal(false);
    expect(isSameRound(round, { ...round, strikePrice: 1n })).to.equal(false);
  });

  it("describeTime names the last second that a date can", () => {
    expect(describeTime(0n)).to.equal("1970-01-01T00:00:00Z");
    const last = 8_640_000_000_000n;
    expect(describeTime(last)).to.equal("+275760-09-13T00:00:00Z");
    expect(describeTime(last + 1n)).to.equal(`${last + 1n} (Unix seconds)`);
  });

  it("describeOutcome adds how the round was settled", () => {
    const open = {
      ...round,
      APY: 1n,
      maxVolume: 2n,
      filledVolume: 3n,
      minDeposit: 4n,
      settledPrice: 5n,
      settledAmount: 6n,
      settled: false,
    };
    const text =
      "the round from 2027-01-15T08:00:00Z to 2027-01-22T08:00:00Z with strike price 1900.5";
    expect(describeRound(round)).to.equal(text);
    expect(describeOutcome(open)).to.equal(text);
    expect(describeOutcome({ ...open, settled: true })).to.equal(
      `${text}, settledPrice 5, settledAmount 6`,
    );
  });
});

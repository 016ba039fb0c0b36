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
  it("should be start, end and strike price, each of them", () => {
    expect(isSameRound(round, { ...round })).to.equal(true);
    expect(isSameRound(round, { ...round, startTime: 1n })).to.equal(false);
    expect(isSameRound(round, { ...round, endTime: 1n })).to.equal(false);
    expect(isSameRound(round, { ...round, strikePrice: 1n })).to.equal(false);
  });

  it("should read as a sentence, also with the largest integers", () => {
    expect(describeRound(round)).to.equal(
      "the round from 2027-01-15T08:00:00Z to 2027-01-22T08:00:00Z with strike price 1900.5",
    );
    const most = 2n ** 256n - 1n;
    expect(
      describeRound({ startTime: 0n, endTime: most, strikePrice: 0n }),
    ).to.equal(
      `the round from 1970-01-01T00:00:00Z to ${most} (Unix seconds) with strike price 0`,
    );
  });

  it("should name the last second that a date can", () => {
    expect(describeTime(0n)).to.equal("1970-01-01T00:00:00Z");
    const last = 8_640_000_000_000n;
    expect(describeTime(last)).to.equal("+275760-09-13T00:00:00Z");
    expect(describeTime(last + 1n)).to.equal(`${last + 1n} (Unix seconds)`);
  });

  it("should say how it was settled, if it was", () => {
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
    expect(describeOutcome(open)).to.equal(describeRound(round));
    expect(describeOutcome({ ...open, settled: true })).to.equal(
      `${describeRound(round)}, settledPrice 5, settledAmount 6`,
    );
  });
});

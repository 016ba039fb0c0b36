import { expect } from "chai";

import {
  answerOf,
  get,
  placesOf,
  queriesOf,
  set,
} from "../../src/protocol/queries.js";
import { describeRound } from "../../src/protocol/round.js";
import { groupDigits } from "../../src/protocol/units.js";

describe("queries of the operations table", () => {
  it("builds a single value by itself and several as an object", () => {
    expect(answerOf("queryVolume", () => 1n)).to.equal(1n);
    expect(answerOf("calMargins", ({ name }) => name)).to.deep.equal({
      baseMarginAmount: "baseMarginAmount",
      xMarginAmount: "xMarginAmount",
    });
  });

  it("names the place of every value that a query returns", () => {
    const placesFor = (
      name: "queryVolume" | "getFundingFeeRate" | "getLPAmountInfo",
    ) =>
      queriesOf(name)
        .flatMap(placesOf)
        .map(({ path, field }) => [path.join("."), field.name]);
    expect(placesFor("queryVolume").map(([path]) => path)).to.deep.equal([
      "volume",
    ]);
    expect(placesFor("getFundingFeeRate").map(([path]) => path)).to.deep.equal([
      "fundingFeeRate.call",
      "fundingFeeRate.put",
    ]);
    expect(placesFor("getLPAmountInfo")).to.deep.equal([
      ["pools.public.deposit", "deposit"],
      ["pools.public.availabe", "availabe"],
      ["pools.public.locked", "locked"],
      ["pools.private.deposit", "deposit"],
      ["pools.private.availabe", "availabe"],
      ["pools.private.locked", "locked"],
    ]);
  });

  it("puts values where it finds them again, and keeps their neighbours", () => {
    const readings: Record<string, unknown> = {};
    set(readings, ["volume"], 1n);
    set(readings, ["pools", "public"], { locked: 2n });
    set(readings, ["pools", "private"], { locked: 3n });
    expect(readings).to.deep.equal({
      volume: 1n,
      pools: { public: { locked: 2n }, private: { locked: 3n } },
    });
    expect(get(readings, ["pools", "private", "locked"])).to.equal(3n);
    expect(get(readings, ["volume", undefined])).to.equal(1n);
    expect(get(readings, ["volume", "locked"])).to.equal(undefined);
    expect(get({ volume: null }, ["volume", "locked"])).to.equal(undefined);
  });
});

describe("numbers for people", () => {
  it("groups the digits before the point by three", () => {
    expect(
      ["999", "1000", "1234567", "5000000.2500", "12.3456"].map(groupDigits),
    ).to.deep.equal(["999", "1,000", "1,234,567", "5,000,000.2500", "12.3456"]);
  });

  it("drops only a whole number's .0 from a strike price", () => {
    const strikeOf = (strikePrice: bigint) =>
      describeRound({ startTime: 0n, endTime: 0n, strikePrice })
        .split(" ")
        .at(-1);
    expect(strikeOf(19n * 10n ** 18n)).to.equal("19");
    expect(strikeOf(1905n * 10n ** 16n)).to.equal("19.05");
  });
});

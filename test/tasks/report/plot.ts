import { expect } from "chai";

import { numberAxis, roundStep, timeAxis } from "../../../tasks/report/plot.js";

const MINUTE = 60;
const DAY = 86_400;
/** 15 January 2027, 8:00. */
const START = 1_800_000_000;

describe("the axes of a chart", () => {
  for (const [span, step] of [
    [14, 1],
    [15, 2],
    [31, 5],
    [0.5, 0.05],
  ] as const) {
    it(`roundStep divides ${span} by ten into steps of ${step}`, () => {
      // Not closeTo(): Hardhat's matchers, which other tests load, replace it.
      const off = Math.abs(roundStep(span, 10) - step);
      expect(off).to.be.below(1e-12);
    });
  }

  it("numberAxis reaches from a round number to a round number", () => {
    const { from, to, ticks } = numberAxis("price", [101, 399]);
    expect([from, to]).to.deep.equal([100, 400]);
    expect(ticks.map(({ at }) => at)).to.deep.equal([100, 200, 300, 400]);
  });

  for (const [at, text] of [
    [0.0000009, "9e-7"],
    [999_999_999, "999,999,999"],
    [1_000_000_000, "1e+9"],
  ] as const) {
    it(`numberAxis writes ${at} as ${text}`, () => {
      const { ticks } = numberAxis("price", [at, at], at);
      expect(ticks[0]?.lines).to.deep.equal([text]);
    });
  }

  for (const [span, step] of [
    [3 * MINUTE, MINUTE],
    [15 * MINUTE, 5 * MINUTE],
    [2_160 * MINUTE, 720 * MINUTE],
    [2_161 * MINUTE, DAY],
    [12 * DAY, 5 * DAY],
  ] as const) {
    it(`timeAxis divides ${span / MINUTE} minutes into steps of ${step / MINUTE}`, () => {
      // A multiple of each step, since 1970.
      const start = 18_000 * DAY;
      const [from, to] = [start - 1, start + span - 1];
      const { ticks, ...axis } = timeAxis([from, to]);
      expect(axis).to.deep.equal({ from, to, label: "UTC" });
      expect(ticks[0]?.at).to.equal(start);
      expect((ticks[1]?.at ?? 0) - start).to.equal(step);
      expect(ticks.at(-1)?.at).to.be.within(start + span - step, to);
    });
  }

  it("timeAxis labels the start of a time without a whole minute", () => {
    const { ticks } = timeAxis([START + 10, START + 20]);
    expect(ticks.map(({ lines }) => lines)).to.deep.equal([
      ["2027-01-15", "08:00"],
    ]);
  });
});

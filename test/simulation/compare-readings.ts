import { expect } from "chai";

import { changesBetween } from "../../src/simulation/compare-readings.js";

describe("changes of a simulation", () => {
  it("changes list the fields of a reading, or the reading itself if it is one value", () => {
    const readings = (value: bigint): ReadonlyMap<string, unknown> =>
      new Map<string, unknown>([
        ["round", { filledVolume: value, settled: false }],
        ["volume", value],
      ]);
    const change = { before: 1n, after: 2n };
    expect(changesBetween(readings(1n), readings(2n))).to.deep.equal([
      { reading: "round", field: "filledVolume", ...change },
      { reading: "volume", field: "volume", ...change },
    ]);
  });
});

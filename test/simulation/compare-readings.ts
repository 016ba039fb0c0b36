import { expect } from "chai";

import {
  changesBetween,
  compareBalances,
  explainBalances,
} from "../../src/simulation/compare-readings.js";

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

  for (const [title, token, after, transfers, isExplained] of [
    ["nothing moves", "native", 5n, [], true],
    ["a balance grows without a transfer", "native", 6n, [], false],
    ["a token's balance grows", "0xT", 6n, [], true],
    ["a transfer pays in", "native", 8n, [["B", "A", "native"]], true],
    ["a transfer pays out", "native", 2n, [["A", "B", "native"]], true],
    ["a transfer is of a token", "native", 8n, [["B", "A", "0xT"]], false],
    ["a transfer is of others", "native", 5n, [["B", "C", "native"]], true],
  ] as const) {
    it(`explainBalances() returns ${isExplained} if ${title}`, () => {
      const [one, other] = [5n, after].map((amount) => [
        { account: "Z", token: "native", amount: 1n },
        { account: "A", token, amount },
      ]);
      const moved = transfers.map(([from, to, of]) => ({
        ...{ from, to, token: of },
        amount: 3n,
      }));
      expect(explainBalances(moved, one ?? [], other ?? [])).to.equal(
        isExplained,
      );
    });
  }

  it("compareBalances() subtracts the fee from the payer's native currency alone", () => {
    const balances = [
      { account: "A", token: "native", amount: 9n },
      { account: "A", token: "0xT", amount: 9n },
      { account: "B", token: "native", amount: 9n },
    ];
    expect(compareBalances(balances, balances, "A", 9n)).to.deep.equal([
      { account: "A", token: "native", before: 9n, after: 0n },
    ]);
    expect(compareBalances(balances, balances, "A", 10n)).to.deep.equal([
      { account: "A", token: "native", before: 19n, after: 9n },
    ]);
  });
});

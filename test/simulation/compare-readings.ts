import { expect } from "chai";

import {
  changedBalances,
  changesBetween,
  pairBalances,
  unexplainedBalances,
} from "../../src/simulation/compare-readings.js";
import type { Balance } from "../../src/simulation/compare-readings.js";
import type { BalanceChange } from "../../src/simulation/types.js";

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

  for (const [title, token, after, transfers, surplus] of [
    ["nothing moves", "native", 5n, [], 0n],
    ["a balance grows without a transfer", "native", 6n, [], 1n],
    ["a token's balance grows", "0xT", 6n, [], 0n],
    ["a transfer pays in", "native", 8n, [["0xB", "0xA", "native"]], 0n],
    [
      "a transfer that is paid out fails",
      "native",
      5n,
      [["0xA", "0xB", "native"]],
      3n,
    ],
    ["a transfer is of a token", "native", 8n, [["0xB", "0xA", "0xT"]], 3n],
    [
      "a transfer is to its sender",
      "native",
      5n,
      [["0xA", "0xA", "native"]],
      0n,
    ],
  ] as const) {
    it(`unexplainedBalances() names a surplus of ${surplus} if ${title}`, () => {
      const balances: readonly BalanceChange[] = [
        { account: "0xZ", token: "native", before: 1n, after: 1n },
        { account: "0xA", token, before: 5n, after },
      ];
      const moved = transfers.map(([from, to, of]) => ({
        ...{ from, to, token: of },
        amount: 3n,
      }));
      expect(unexplainedBalances(moved, balances)).to.deep.equal(
        surplus === 0n ? [] : [{ account: "0xA", surplus }],
      );
    });
  }

  it("pairBalances() pairs the balances of the same account and token, in any order", () => {
    const balances: readonly Balance[] = [
      { account: "0xA", token: "native", amount: 1n },
      { account: "0xA", token: "0xT", amount: 2n },
      { account: "0xB", token: "native", amount: 3n },
    ];
    expect(
      pairBalances(
        balances,
        balances.map((one) => ({ ...one, amount: one.amount * 10n })).reverse(),
      ),
    ).to.deep.equal(
      balances.map(({ account, token, amount }) => ({
        ...{ account, token },
        ...{ before: amount, after: amount * 10n },
      })),
    );
  });

  it("changedBalances() subtracts the fee from the payer's native currency alone", () => {
    const balances: readonly BalanceChange[] = [
      { account: "0xA", token: "native", before: 9n, after: 9n },
      { account: "0xA", token: "0xT", before: 9n, after: 9n },
      { account: "0xB", token: "native", before: 9n, after: 9n },
    ];
    expect(changedBalances(balances, "0xA", 9n)).to.deep.equal([
      { account: "0xA", token: "native", before: 9n, after: 0n },
    ]);
  });
});

import { expect } from "chai";

import {
  changesBetween,
  operationOf,
  orderName,
} from "../../src/rehearsal/compare-readings.js";
import { expectVaultError } from "../helpers/assertions.js";

describe("readings before and after", () => {
  it("should differ by their fields, or by themselves where they are one value", () => {
    const [before, after] = [1n, 2n].map((filledVolume) => ({
      filledVolume,
      settled: false,
    }));
    const change = { before: 1n, after: 2n };
    expect(
      changesBetween(
        new Map<string, unknown>([
          ["round", before],
          ["volume", 1n],
        ]),
        new Map<string, unknown>([
          ["round", after],
          ["volume", 2n],
        ]),
      ).map(({ reading, ...rest }) => [reading, rest.before, rest.after]),
    ).to.deep.equal([
      ["round", change.before, change.after],
      ["volume", change.before, change.after],
    ]);
  });

  it("should have the fields of their own alone", () => {
    const inherited: unknown = Object.create({ filledVolume: 1n });
    expect(
      changesBetween(
        new Map([["round", inherited]]),
        new Map<string, unknown>([["round", {}]]),
      ),
    ).to.deep.equal([]);
  });

  it("should be made by an operation, which no other name has", async () => {
    expect(operationOf(orderName(7n))).to.equal("getOrderInfo");
    expect(operationOf("round")).to.equal("getLatestRoundInfo");
    await expectVaultError(() => operationOf("rounds"), "VAULT_INTERNAL");
  });
});

import { assert, expect } from "chai";

import {
  ContractType,
  OrderState,
  VaultClient,
} from "../../src/client/index.js";
import hardhatVault from "../../src/index.js";
import {
  declaredDecimals,
  describeEnumValue,
  describeTime,
  displayDecimalsKeys,
  get,
  groupDigits,
  hasOwnersScale,
  operationEntry,
  operationNames,
  placesOf,
  set,
  standaloneQueries,
  targetsOf,
  units,
} from "../../src/protocol/index.js";
import type { Field, OperationName } from "../../src/protocol/index.js";
import {
  describeOutcome,
  describeRound,
  formatNative,
  hasEnded,
  isSameRound,
  scale,
} from "../../src/protocol/round.js";
import { createTestHre } from "../helpers/hre.js";

/** Names of the results, from the protocol's section 2, by hand. */
const documentedFields: Readonly<Record<string, string>> = {
  getLatestRoundInfo:
    "strikePrice APY maxVolume filledVolume minDeposit startTime endTime settledPrice settledAmount settled",
  getOrderInfo:
    "exType holder number exFee lockFee newLockFee openPrice marginAmount marginFee startTime closePrice contractType state",
  getLPAmountInfo: "deposit availabe locked",
  calMargins: "baseMarginAmount xMarginAmount",
  queryMarginBalance: "baseMarginAmount xMarginAmount",
};

const outputsOf = (name: OperationName): readonly Field[] =>
  operationEntry(name).outputs;

/** Names of the results that a condition holds for. */
const fieldsWith = (condition: (field: Field) => boolean): string =>
  operationNames
    .flatMap((name) => outputsOf(name).filter(condition))
    .map(({ name }) => name)
    .join(" ");

describe("the operations table", () => {
  it("has the ten rows of the protocol, with the documented results", () => {
    // Both pools are rows of their own.
    expect(operationNames.flatMap((name) => targetsOf(name))).to.have.length(
      10,
    );
    const fields = operationNames
      .filter((name) => outputsOf(name).length > 1)
      .map((name) => [
        name,
        outputsOf(name)
          .map((field) => field.name)
          .join(" "),
      ]);
    expect(Object.fromEntries(fields)).to.deep.equal(documentedFields);
  });

  it("gives a scale to documented values only; the owner declares that of all others but times", () => {
    expect(fieldsWith(({ unit }) => "decimals" in units[unit])).to.equal(
      "fundingFeeRate strikePrice APY maxVolume filledVolume minDeposit settledPrice",
    );
    expect(fieldsWith(hasOwnersScale)).to.equal(
      [
        "settledAmount number exFee lockFee newLockFee openPrice marginAmount",
        "marginFee closePrice baseMarginAmount xMarginAmount deposit availabe",
        "locked volume baseMarginAmount xMarginAmount minXMargin",
      ].join(" "),
    );
    // Of one value, there is one key: the reading's.
    expect(displayDecimalsKeys).to.include.members(["volume", "pools"]);
    expect(displayDecimalsKeys).not.to.include("volume.volume");
    expect(displayDecimalsKeys).not.to.include("fundingFeeRate");
  });

  it("has the documented values of enums, and others are unknown", () => {
    expect(ContractType).to.deep.equal({ call: 1, put: 2 });
    expect(OrderState).to.deep.equal({ open: 1, closed: 2 });
    for (const number of [0, 3, 7, 255]) {
      expect(describeEnumValue("contractType", number)).to.equal(
        `unknown (${number})`,
      );
    }
  });

  it("declared decimals of a value come before those of its reading", () => {
    const decimalsOf = (
      operation: OperationName,
      field: string,
      reading: string,
    ): number | undefined => {
      const found = outputsOf(operation).find(({ name }) => name === field);
      assert(found !== undefined);
      expect(found.key).to.equal(reading);
      expect(declaredDecimals(undefined, found)).to.equal(undefined);
      return declaredDecimals(
        { pools: 18, "pools.deposit": 6, round: 3, order: 18 },
        found,
      );
    };
    expect(decimalsOf("getLPAmountInfo", "deposit", "pools")).to.equal(6);
    expect(decimalsOf("getLPAmountInfo", "availabe", "pools")).to.equal(18);
    // Of what the protocol gives a scale, and of times, nothing is declared.
    expect(decimalsOf("getLatestRoundInfo", "strikePrice", "round")).to.equal(
      undefined,
    );
    expect(decimalsOf("getOrderInfo", "startTime", "order")).to.equal(
      undefined,
    );
  });

  it("lists every reading without arguments, with the place of each value", () => {
    const places = standaloneQueries.map((query) => query.path.join("."));
    expect(places.join(" ")).to.equal(
      "fundingFeeRate.call fundingFeeRate.put round pools.public pools.private volume marginBalance minXMargin",
    );
    const values = standaloneQueries
      .filter(({ operation }) => operation !== "getLatestRoundInfo")
      .flatMap(placesOf)
      .map((place) => `${place.path.join(".")}=${place.field.name}`);
    expect(values).to.include.members([
      ...["volume=volume", "fundingFeeRate.put=fundingFeeRate"],
      ...["pools.public.deposit=deposit", "pools.private.locked=locked"],
    ]);
    expect(values).to.have.length(2 + 6 + 1 + 2 + 1);
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

  it("gives every operation a task and a method of each vault", async () => {
    const taskIds = (hardhatVault.tasks ?? []).map(({ id }) => id.join(" "));
    const hre = await createTestHre();
    const connection = await hre.network.getOrCreate();
    for (const name of operationNames) {
      const { task, kind } = operationEntry(name);
      expect(taskIds).to.include(`vault ${task}`);
      expect(Reflect.get(connection.vault, name), name).to.be.a("function");
      expect(Reflect.get(hre.vault, name), name).to.be.a("function");
      expect(name in VaultClient.prototype, name).to.equal(kind === "read");
    }
    await connection.close();
  });
});

describe("rounds and numbers for people", () => {
  const round = {
    startTime: 1_800_000_000n,
    endTime: 1_800_604_800n,
    strikePrice: 19_005n * 10n ** 15n,
  };

  it("a round is the same if start and strike price are, whatever its end", () => {
    expect(isSameRound(round, { ...round })).to.equal(true);
    expect(isSameRound(round, { ...round, startTime: 1n })).to.equal(false);
    const moved = { ...round, endTime: 1n };
    expect(isSameRound(round, moved)).to.equal(true);
    expect(isSameRound(round, { ...round, strikePrice: 1n })).to.equal(false);
    const [one, other] = [
      { startTime: 1n, strikePrice: 23n },
      { startTime: 12n, strikePrice: 3n },
    ];
    expect(isSameRound(one, other)).to.equal(false);
  });

  it("a round has ended from its end on, and none has if the end is 0", () => {
    for (const [endTime, timestamp, expected] of [
      [10n, 9, false],
      [10n, 10, true],
      [1n, 0, false],
      [0n, 10, null],
    ] as const) {
      expect(hasEnded({ endTime }, timestamp)).to.equal(expected);
    }
  });

  it("formatNative shows wei in whole coins, and scale an amount without decimals as it is", () => {
    expect(formatNative(15n * 10n ** 17n)).to.equal("1.5");
    expect(scale(10n, 0)).to.equal("10");
  });

  it("describeTime names the last second that a date can", () => {
    expect(describeTime(0n)).to.equal("1970-01-01T00:00:00Z");
    const last = 8_640_000_000_000n;
    expect(describeTime(last)).to.equal("+275760-09-13T00:00:00Z");
    expect(describeTime(last + 1n)).to.equal(`${last + 1n} (Unix seconds)`);
  });

  it("describeRound has the strike price, without a whole number's .0, and describeOutcome how the round was settled", () => {
    const [settledPrice, settledAmount] = [5n, 6n];
    const others = { APY: 1n, maxVolume: 2n, filledVolume: 3n, minDeposit: 4n };
    const open = { ...round, ...others, settledPrice, settledAmount };
    const text =
      "the round from 2027-01-15T08:00:00Z to 2027-01-22T08:00:00Z with strike price 19.005";
    expect(describeRound(round)).to.equal(text);
    expect(
      describeRound({ ...round, strikePrice: 1900n * 10n ** 18n }),
    ).to.match(/ price 1,900$/u);
    expect(describeOutcome({ ...open, settled: false })).to.equal(text);
    expect(describeOutcome({ ...open, settled: true })).to.equal(
      `${text}, settledPrice 5, settledAmount 6`,
    );
  });

  it("groupDigits groups the digits before the point by three", () => {
    expect(
      ["999", "1000", "1234567", "5000000.2500", "12.3456"].map(groupDigits),
    ).to.deep.equal(["999", "1,000", "1,234,567", "5,000,000.2500", "12.3456"]);
  });
});

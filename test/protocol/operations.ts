import { spawnSync } from "node:child_process";
import path from "node:path";

import { assert, expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import {
  ContractType,
  OrderState,
  declaredDecimals,
  describeEnumValue,
  displayDecimalsKeys,
  hasOwnersScale,
  isStandalone,
  operationEntry,
  operationNames,
  readOperationNames,
  queriesOf,
  standaloneQueries,
  targetsOf,
  units,
} from "../../src/protocol/index.js";
import type { Field, OperationName } from "../../src/protocol/index.js";
import hardhatVault from "../../src/index.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";

const root = path.resolve(import.meta.dirname, "../..");

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

function fieldOf(operation: OperationName, name: string): Field {
  const found = operationEntry(operation).outputs.find(
    (field) => field.name === name,
  );
  assert(found !== undefined);
  return found;
}

describe("the operations table", () => {
  it("the table has the ten rows of the protocol", () => {
    const rows = operationNames.flatMap((name) => {
      const { row } = operationEntry(name);
      return targetsOf(name).map((_, index) => row + index);
    });
    expect(rows).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("each result has the documented fields", () => {
    const fields = operationNames.flatMap((name) => {
      const { outputs } = operationEntry(name);
      return outputs.length < 2
        ? []
        : [[name, outputs.map((field) => field.name).join(" ")]];
    });
    expect(Object.fromEntries(fields)).to.deep.equal(documentedFields);
  });

  it("only documented values have a scale", () => {
    const scaled = operationNames.flatMap((name) =>
      operationEntry(name)
        .outputs.filter(({ unit }) => "decimals" in units[unit])
        .map((field) => `${name}.${field.name}`),
    );
    expect(scaled).to.deep.equal([
      "getFundingFeeRate.fundingFeeRate",
      "getLatestRoundInfo.strikePrice",
      "getLatestRoundInfo.APY",
      "getLatestRoundInfo.maxVolume",
      "getLatestRoundInfo.filledVolume",
      "getLatestRoundInfo.minDeposit",
      "getLatestRoundInfo.settledPrice",
    ]);
  });

  it("enums have the documented values, and others are unknown", () => {
    expect(ContractType).to.deep.equal({ call: 1, put: 2 });
    expect(OrderState).to.deep.equal({ open: 1, closed: 2 });
    for (const number of [0, 3, 7, 255]) {
      expect(describeEnumValue("contractType", number)).to.equal(
        `unknown (${number})`,
      );
    }
  });

  it("the owner declares the scale of each value that has none and is no time", () => {
    const unscaled = operationNames.flatMap((name) =>
      operationEntry(name)
        .outputs.filter(hasOwnersScale)
        .map((field) => field.name),
    );
    expect(unscaled.join(" ")).to.equal(
      [
        "settledAmount number exFee lockFee newLockFee openPrice marginAmount",
        "marginFee closePrice baseMarginAmount xMarginAmount deposit availabe",
        "locked volume baseMarginAmount xMarginAmount minXMargin",
      ].join(" "),
    );
    // Of one value, there is one key: the reading's.
    expect(displayDecimalsKeys).to.include.members(["volume", "pools"]);
    expect(displayDecimalsKeys).not.to.include.oneOf([
      ...["volume.volume", "fundingFeeRate"],
    ]);
  });

  it("declared decimals of a value come before those of its reading", () => {
    const deposit = fieldOf("getLPAmountInfo", "deposit");
    const availabe = fieldOf("getLPAmountInfo", "availabe");
    const price = fieldOf("getLatestRoundInfo", "strikePrice");
    const startTime = fieldOf("getOrderInfo", "startTime");
    const declared = { pools: 18, "pools.deposit": 6, round: 3, order: 18 };
    expect(declaredDecimals(declared, "pools", deposit)).to.equal(6);
    expect(declaredDecimals(declared, "pools", availabe)).to.equal(18);
    // Of what the protocol gives a scale, and of times, nothing is declared.
    expect(declaredDecimals(declared, "round", price)).to.equal(undefined);
    expect(declaredDecimals(declared, "order", startTime)).to.equal(undefined);
    expect(declaredDecimals(undefined, "pools", deposit)).to.equal(undefined);
  });

  it("every reading without arguments is listed with its place", () => {
    expect(
      readOperationNames.filter(isStandalone).flatMap(queriesOf),
    ).to.deep.equal(standaloneQueries);

    expect(
      standaloneQueries.map(({ path: place }) => place.join(".")),
    ).to.deep.equal([
      "fundingFeeRate.call",
      "fundingFeeRate.put",
      "round",
      "pools.public",
      "pools.private",
      "volume",
      "marginBalance",
      "minXMargin",
    ]);
  });
});

describe("an entry of the operations table", () => {
  const taskIds = (hardhatVault.tasks ?? []).map(({ id }) => id.join(" "));

  it("every operation has a task, and is a method of each vault", async () => {
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

  it("an eleventh operation gets methods, a task, status, request and snapshot by its entry alone", () => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--import", "tsx", "test/helpers/eleventh-operation.ts"],
      { cwd: root, encoding: "utf8" },
    );
    expect(stderr).to.equal("");
    expect(status).to.equal(0);
    const found = fieldsOf(JSON.parse(stdout));
    expect(found).to.deep.nested.include({
      connectionVault: "77",
      hreVault: "77",
      snapshot: true,
      "task.volumeAgain": "77",
      "status.status.volumeAgain": "77",
      "request.method": "eth_call",
    });
    expect(found["text"]).to.match(
      /^Volume again {2}default.*\nVolume again +77/u,
    );
    expect(found["statusText"]).to.contain("Volume again");
  });
});

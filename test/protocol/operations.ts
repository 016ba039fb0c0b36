import { spawnSync } from "node:child_process";
import path from "node:path";

import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { createLazyHardhatVault } from "../../src/plugin/lazy-hardhat-vault.js";
import {
  ContractType,
  OrderState,
  argumentCount,
  contractRoleNames,
  describeEnumValue,
  operationEntry,
  operationNames,
  readOperationNames,
  readingsOf,
  standaloneReadings,
  targetsOf,
  units,
} from "../../src/protocol/index.js";
import hardhatVault from "../../src/index.js";
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

describe("the operations table", () => {
  it("should have the ten rows of the protocol", () => {
    const rows = operationNames.flatMap((name) => {
      const { row } = operationEntry(name);
      return targetsOf(name).map((_, index) => row + index);
    });
    expect(rows).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  for (const [name, fields] of Object.entries(documentedFields)) {
    it(`should name the fields of ${name} as documented`, () => {
      const operation = operationNames.find((each) => each === name);
      expect(operation).to.equal(name);
      if (operation !== undefined) {
        const { outputs } = operationEntry(operation);
        expect(outputs.map((field) => field.name).join(" ")).to.equal(fields);
      }
    });
  }

  it("should have one key and one task for each operation", () => {
    const entries = operationNames.map(operationEntry);
    expect(new Set(entries.map(({ key }) => key)).size).to.equal(
      entries.length,
    );
    expect(new Set(entries.map(({ task }) => task)).size).to.equal(
      entries.length,
    );
  });

  it("should ask every contract for something", () => {
    const asked = operationNames.flatMap(targetsOf).map(({ role }) => role);
    expect(new Set(asked)).to.deep.equal(new Set(contractRoleNames));
  });

  it("should not invent a scale that is not documented", () => {
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

  it("should name enum values as documented, and no others", () => {
    expect(ContractType).to.deep.equal({ CALL: 1, PUT: 2 });
    expect(OrderState).to.deep.equal({ OPEN: 1, CLOSED: 2 });
    for (const number of [0, 3, 7, 255]) {
      expect(describeEnumValue("contractType", number)).to.equal(
        `unknown (${number})`,
      );
    }
  });

  it("should list every reading that needs no argument", () => {
    expect(
      standaloneReadings.map(({ path: place }) => place.join(".")),
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
    for (const { operation, args } of readOperationNames.flatMap(readingsOf)) {
      if (standaloneReadings.some((each) => each.operation === operation)) {
        expect(args).to.have.lengthOf(argumentCount(operation));
      }
    }
  });
});

describe("an operation of the table", () => {
  const taskIds = (hardhatVault.tasks ?? []).map(({ id }) => id.join(" "));

  for (const name of operationNames) {
    const { task, kind } = operationEntry(name);
    it(`should have the task and the methods of ${name}`, async () => {
      expect(taskIds).to.include(`vault ${task}`);
      const hre = await createTestHre();
      const connection = await hre.network.getOrCreate();
      const lazy = createLazyHardhatVault(hre.network);
      expect(Reflect.get(connection.vault, name)).to.be.a("function");
      expect(Reflect.get(lazy, name)).to.be.a("function");
      expect(name in VaultClient.prototype).to.equal(kind === "read");
      await connection.close();
    });
  }

  it("should turn up everywhere by its entry alone", () => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--import", "tsx", "test/helpers/eleventh-operation.ts"],
      { cwd: root, encoding: "utf8" },
    );
    expect(stderr).to.equal("");
    expect(status).to.equal(0);
    const found: unknown = JSON.parse(stdout);
    expect(found).to.include({
      connectionVault: "77",
      hreVault: "77",
      snapshot: true,
    });
    expect(found).to.have.nested.property("task.volumeAgain", "77");
    expect(found).to.have.nested.property("status.status.volumeAgain", "77");
    expect(found).to.have.nested.property("request.method", "eth_call");
    expect(found)
      .to.have.property("text")
      .that.matches(/^Volume again {2}default.*\nVolume again +77/u);
    expect(found).to.have.property("statusText").that.contains("Volume again");
  });
});

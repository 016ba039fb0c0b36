import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import hardhatVault from "../../src/index.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { captureTask } from "../../tasks/definitions/capture.js";
import { ordersTask } from "../../tasks/definitions/orders.js";
import { readTask } from "../../tasks/definitions/read.js";
import { reportTask } from "../../tasks/definitions/report.js";
import { simulateTask } from "../../tasks/definitions/simulate.js";
import { watchTask } from "../../tasks/definitions/watch.js";
import { parseOptions } from "../../tasks/parse-options.js";
import { hreOnLive } from "../helpers/hre.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const vaultTasks = hardhatVault.tasks ?? [];

describe("options of tasks", () => {
  let hre: HardhatRuntimeEnvironment;
  before(async () => {
    hre = await hreOnLive("http://127.0.0.1:1", {
      vault: { tokenDecimals: 6, instances: { usdc: { tokenDecimals: 2 } } },
    });
  });

  it("parseOptions makes a value of each kind", () => {
    const typed = {
      ids: "1, 2,5-9,7,0x10",
      tokens: `${ADDRESS.toLowerCase()}, ${ADDRESS}`,
      timeout: "2.5",
      block: "1_000",
      atTime: "end",
      fork: true,
    };
    expect(parseOptions(simulateTask.options, typed, hre)).to.deep.include({
      ids: [1n, 2n, 5n, 6n, 7n, 8n, 9n, 16n],
      tokens: [ADDRESS, ADDRESS],
      timeout: 2_500,
      block: 1_000n,
      atTime: "end",
      fork: true,
      as: undefined,
    });
    for (const [ids, selected] of [
      ["0-499999", { firstId: 0n, lastId: 499_999n }],
      ["500-", { firstId: 500n, lastId: undefined }],
      ["7", { ids: [7n] }],
      ["1,5-6", { ids: [1n, 5n, 6n] }],
    ] as const) {
      const parsed = parseOptions(ordersTask.options, { ids }, hre);
      expect(parsed.ids).to.deep.equal(selected);
    }
    const until = { until: "+1h" };
    const time = parseOptions(watchTask.options, until, hre).until;
    expect(typeof time === "object" && time.after(1_000)).to.equal(4_600n);
  });

  it("a list of ids has as many as the help of its task says, and not one more", () => {
    for (const [{ options }, most] of [
      [captureTask, 10_000],
      [reportTask, 10_000],
      [simulateTask, 400],
      [ordersTask, 10_000],
    ] as const) {
      const typed = (count: number) => ({
        ...{ out: "fixture.json", ids: `0,1-${count - 1}` },
      });
      expect(() => parseOptions(options, typed(most), hre)).to.not.throw();
      expect(() => parseOptions(options, typed(most + 1), hre)).to.throw(
        `at most ${most.toLocaleString("en")} orders can be named`,
      );
    }
  });

  it("--timeout takes a thousandth of a second", () => {
    const { timeout } = parseOptions(
      ordersTask.options,
      { timeout: "0.001" },
      hre,
    );
    expect(timeout).to.equal(1);
  });

  it("margins scales amounts by tokenDecimals, of the instance if there is one, and percentages by 16, and nothing with --raw", () => {
    const ofMargins = readTask("", operationEntry("calMargins").inputs).options;
    for (const [raw, maxVolume, apy, values, instance] of [
      [false, "3", "12", [3_000_000n, 12n * 10n ** 16n], undefined],
      [false, "3", "12", [300n, 12n * 10n ** 16n], "usdc"],
      [false, ".5", "0.0000000000000001", [500_000n, 1n], undefined],
      [true, "0x10", "12", [16n, 12n], undefined],
    ] as const) {
      const typed = { maxVolume, apy, endTime: "1800000000", raw, instance };
      const parsed = parseOptions(ofMargins, typed, hre);
      expect([parsed["maxVolume"], parsed["apy"]]).to.deep.equal(values);
    }
  });

  it("positional arguments have no empty default, which Hardhat's help would show", () => {
    const defaults = vaultTasks.flatMap((task) =>
      task.type === TaskDefinitionType.NEW_TASK
        ? task.positionalArguments.map(({ defaultValue }) => defaultValue)
        : [],
    );
    expect(defaults).to.not.deep.include([]);
  });

  it("--help offers the pending block only in tasks that read it", () => {
    const reading = readOperationNames.map((name) => operationEntry(name).task);
    for (const definition of vaultTasks) {
      if (definition.type === TaskDefinitionType.NEW_TASK) {
        const { description = "" } = definition.options["block"] ?? {};
        const [, task = ""] = definition.id;
        expect(description.includes("pending"), task).to.equal(
          description !== "" && ["status", ...reading].includes(task),
        );
      }
    }
  });
});

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
import { settleTask } from "../../tasks/definitions/settle.js";
import { reportTask } from "../../tasks/definitions/report.js";
import { simulateTask } from "../../tasks/definitions/simulate.js";
import { statusTask } from "../../tasks/definitions/status.js";
import { watchTask } from "../../tasks/definitions/watch.js";
import {
  excludeAlternatives,
  parseOptions,
} from "../../tasks/parse-options.js";
import { toOptions } from "../../tasks/settle.js";
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

  it("the help of a task names only options that it has", () => {
    for (const task of vaultTasks) {
      if (task.type === TaskDefinitionType.NEW_TASK) {
        const { options, positionalArguments } = task;
        const flags = Object.keys(options).map(
          (name) => `--${name.replaceAll(/(?=[A-Z])/gu, "-").toLowerCase()}`,
        );
        const all = [task, ...Object.values(options), ...positionalArguments];
        for (const { description } of all) {
          const named = description.match(/--[a-z-]+/gu) ?? [];
          expect(flags).to.include.members(named);
        }
      }
    }
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
      from: undefined,
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

  it("--max-fee-per-gas is in wei or gwei", () => {
    for (const [maxFeePerGas, wei] of [
      ["50gwei", 50_000_000_000n],
      ["1.5 gwei", 1_500_000_000n],
      ["1000wei", 1_000n],
    ] as const) {
      expect(
        parseOptions(settleTask.options, { maxFeePerGas }, hre).maxFeePerGas,
      ).to.equal(wei);
    }
  });

  it("--timeout is in seconds, rounded up to milliseconds, from 0.001 to 24 days", () => {
    for (const [timeout, milliseconds] of [
      ["0.001", 1],
      ["0.0011", 2],
      ["2147483", 2_147_483_000],
    ] as const) {
      expect(
        parseOptions(simulateTask.options, { timeout }, hre).timeout,
      ).to.equal(milliseconds);
    }
  });

  it("--ids takes a range of one, and as many orders as its help tells, each counted once", () => {
    const { ids: watched } = parseOptions(
      simulateTask.options,
      { ids: "1-400,7-7" },
      hre,
    );
    expect(watched).to.have.lengthOf(400);
    const { ids: listed } = parseOptions(
      ordersTask.options,
      { ids: "1,1-10000" },
      hre,
    );
    expect(listed?.ids).to.have.lengthOf(10_000);
    expect(() =>
      parseOptions(ordersTask.options, { ids: "0,1-10000" }, hre),
    ).to.throw(/at most 10,000 orders/u);
  });

  it("settle and status refuse options that exclude each other", () => {
    const on = true;
    for (const [task, given, where] of [
      [settleTask, { assert: on, calldata: on }, "--assert and --calldata"],
      [settleTask, { calldata: on, resume: on }, "--calldata and --resume"],
      [settleTask, { bump: on, cancel: on }, "--bump and --cancel"],
      [settleTask, { calldata: on, ifExpired: on }, "and --if-expired"],
      [settleTask, { calldata: on, partial: on }, "--calldata and --partial"],
      [settleTask, { calldata: on, maxFeePerGas: "1wei" }, "and --max-fee-per"],
      [statusTask, { json: on, format: "prometheus" }, "--json and --format"],
      [statusTask, { all: on, at: "vault=0x1" }, "--all and --at"],
      [statusTask, { all: on, instance: "usdc" }, "--all and --instance"],
    ] as const) {
      expect(() => {
        excludeAlternatives(task.alternatives ?? [], given);
      }).to.throw(where);
    }
    excludeAlternatives(settleTask.alternatives ?? [], {
      ...{ assert: false, calldata: on, safe: on, partial: false },
    });
  });

  it("settle hands each of its options on", () => {
    const optionsOf = (typed: Readonly<Record<string, unknown>>) =>
      toOptions(parseOptions(settleTask.options, typed, hre));
    const none = {
      ...{ ifExpired: false, partial: false, assertOnly: false },
      ...{ resume: false, resumeFirst: false },
      ...{ bump: false, cancel: false, maxFeePerGas: undefined },
      ...{ from: undefined, confirmations: undefined, timeout: undefined },
      tokens: undefined,
    };
    for (const [typed, expected] of [
      [{}, {}],
      [{ ifExpired: true }, { ifExpired: true }],
      [{ partial: true }, { partial: true }],
      [{ assert: true }, { assertOnly: true }],
      [{ maxFeePerGas: "2wei" }, { maxFeePerGas: 2n }],
      [{ from: ADDRESS }, { from: ADDRESS }],
      [{ tokens: `${ADDRESS},${ADDRESS}` }, { tokens: [ADDRESS, ADDRESS] }],
      [{ tokens: "none" }, { tokens: [] }],
      [{ confirmations: "3" }, { confirmations: 3 }],
      [{ timeout: "3" }, { timeout: 3_000 }],
      [{ yes: true }, { resumeFirst: true }],
      [{ yes: true, resume: true }, { resume: true }],
      [
        { resume: true, bump: true },
        { resume: true, bump: true },
      ],
      [
        { resume: true, cancel: true },
        { resume: true, cancel: true },
      ],
    ] as const) {
      expect(optionsOf(typed)).to.deep.equal({ ...none, ...expected });
    }
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

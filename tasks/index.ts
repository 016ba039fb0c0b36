import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { operationEntry, readOperationNames } from "../src/protocol/queries.js";
import { captureTask } from "./definitions/capture.js";
import { decodeTask } from "./definitions/decode.js";
import { deployGuardTask } from "./definitions/deploy-guard.js";
import { deployMocksTask } from "./definitions/deploy-mocks.js";
import { doctorTask } from "./definitions/doctor.js";
import {
  failTask,
  nextRoundTask,
  setTask,
  succeedTask,
} from "./definitions/mock.js";
import { ordersTask } from "./definitions/orders.js";
import { readTask } from "./definitions/read.js";
import { reportTask } from "./definitions/report.js";
import { requestTask } from "./definitions/request.js";
import { roundsTask } from "./definitions/rounds.js";
import { settleTask } from "./definitions/settle.js";
import type { Task } from "./definitions/shared.js";
import { simulateTask } from "./definitions/simulate.js";
import { statusTask } from "./definitions/status.js";
import { watchTask } from "./definitions/watch.js";

// Every run of Hardhat loads this file, so it loads no action.

type Action = LazyActionObject<NewTaskActionFunction>;

function defineTask(
  name: string,
  { description, options }: Task,
  action: Action,
): TaskDefinition {
  let builder: NewTaskDefinitionBuilder = task(
    ["vault", ...name.split(" ")],
    description,
  );
  for (const [optionName, { kind, help, isRequired }] of Object.entries(
    options,
  )) {
    const shared = {
      name: optionName,
      // Hardhat has no required options.
      description: isRequired ? `${help} (required)` : help,
    };
    // Hardhat's own types check no bounds, and have errors without a code.
    const type = ArgumentType.STRING_WITHOUT_DEFAULT;
    switch (kind) {
      case "flag":
        builder = builder.addFlag(shared);
        break;
      case "option":
        builder = builder.addOption({
          ...shared,
          type,
          defaultValue: undefined,
        });
        break;
      case "positional":
        builder = builder.addPositionalArgument(shared);
        break;
      case "variadic":
        // With this type, because the help shows a default of no values as
        // "(default: )".
        builder = builder.addVariadicArgument({ ...shared, type });
        break;
    }
  }
  return builder.setAction(action).build();
}

/** Each task and its action, in the order in which they are listed. */
const rows: Readonly<Record<string, readonly [Task, Action]>> = {
  status: [statusTask, () => import("./status.js")],
  orders: [ordersTask, () => import("./orders.js")],
  rounds: [roundsTask, () => import("./rounds.js")],
  report: [reportTask, () => import("./report.js")],
  simulate: [simulateTask, () => import("./simulate.js")],
  settle: [settleTask, () => import("./settle.js")],
  "deploy-guard": [deployGuardTask, () => import("./deploy-guard.js")],
  "deploy-mocks": [deployMocksTask, () => import("./deploy-mocks.js")],
  "mock next-round": [nextRoundTask, mockAction("nextRound")],
  "mock set": [setTask, mockAction("set")],
  "mock fail": [failTask, mockAction("fail")],
  "mock succeed": [succeedTask, mockAction("succeed")],
  capture: [captureTask, () => import("./capture.js")],
  request: [requestTask, () => import("./request.js")],
  watch: [watchTask, () => import("./watch.js")],
  doctor: [doctorTask, () => import("./doctor.js")],
  decode: [decodeTask, () => import("./decode.js")],
};

function mockAction(name: "nextRound" | "set" | "fail" | "succeed"): Action {
  return async () => ({ default: (await import("./mock.js"))[name] });
}

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  ...readOperationNames.map((operation) => {
    const { task: name, description, inputs } = operationEntry(operation);
    return defineTask(name, readTask(description, inputs), async () => ({
      default: (await import("./read.js")).createReadAction(operation),
    }));
  }),
  ...Object.entries(rows).map(([name, row]) => defineTask(name, ...row)),
];

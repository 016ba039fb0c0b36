import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { operationEntry, readOperationNames } from "../src/protocol/queries.js";
import {
  captureTask,
  deployGuardTask,
  deployMocksTask,
  doctorTask,
  failTask,
  nextRoundTask,
  ordersTask,
  readTask,
  reportTask,
  requestTask,
  roundsTask,
  setTask,
  settleTask,
  simulateTask,
  statusTask,
  succeedTask,
  watchTask,
} from "./definitions/tasks.js";
import type { Task } from "./definitions/shared.js";

/** Loads an action when its task runs. */
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

/** Loads one of the actions that script mocks. */
function mockAction(name: "nextRound" | "set" | "fail" | "succeed"): Action {
  return async () => ({ default: (await import("./mock.js"))[name] });
}

/** The tasks of the plugin, in the order in which they are listed. */
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
  defineTask("status", statusTask, () => import("./status.js")),
  defineTask("orders", ordersTask, () => import("./orders.js")),
  defineTask("rounds", roundsTask, () => import("./rounds.js")),
  defineTask("report", reportTask, () => import("./report.js")),
  defineTask("simulate", simulateTask, () => import("./simulate.js")),
  defineTask("settle", settleTask, () => import("./settle.js")),
  defineTask(
    "deploy-guard",
    deployGuardTask,
    () => import("./deploy-guard.js"),
  ),
  defineTask(
    "deploy-mocks",
    deployMocksTask,
    () => import("./deploy-mocks.js"),
  ),
  defineTask("mock next-round", nextRoundTask, mockAction("nextRound")),
  defineTask("mock set", setTask, mockAction("set")),
  defineTask("mock fail", failTask, mockAction("fail")),
  defineTask("mock succeed", succeedTask, mockAction("succeed")),
  defineTask("capture", captureTask, () => import("./capture.js")),
  defineTask("request", requestTask, () => import("./request.js")),
  defineTask("watch", watchTask, () => import("./watch.js")),
  defineTask("doctor", doctorTask, () => import("./doctor.js")),
];

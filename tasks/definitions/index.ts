import type * as config from "hardhat/config";
import type * as argumentTypes from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { keysOf } from "../../src/protocol/keys-of.js";
import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/queries.js";
import type { ReadOperationName } from "../../src/protocol/operations.js";
import { captureTask } from "./capture.js";
import { deployGuardTask } from "./deploy-guard.js";
import { deployMocksTask } from "./deploy-mocks.js";
import { doctorTask } from "./doctor.js";
import { failTask, nextRoundTask, setTask, succeedTask } from "./mock.js";
import { ordersTask } from "./orders.js";
import { readTask } from "./read.js";
import { reportTask } from "./report.js";
import { requestTask } from "./request.js";
import { roundsTask } from "./rounds.js";
import { settleTask } from "./settle.js";
import type { Task } from "./shared.js";
import { simulateTask } from "./simulate.js";
import { statusTask } from "./status.js";
import { watchTask } from "./watch.js";

/** Loads an action when its task runs. */
type Action = LazyActionObject<NewTaskActionFunction>;

/** Of Hardhat, of which this file may import only types: see tsdown.config.ts. */
type Builders = Pick<typeof config, "emptyTask" | "task"> &
  Pick<typeof argumentTypes, "ArgumentType">;

function defineTask(
  { task, ArgumentType }: Builders,
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

/** Each task, in the order in which they are listed, after those that read an operation. */
const tasks = {
  status: statusTask,
  orders: ordersTask,
  rounds: roundsTask,
  report: reportTask,
  simulate: simulateTask,
  settle: settleTask,
  "deploy-guard": deployGuardTask,
  "deploy-mocks": deployMocksTask,
  "mock next-round": nextRoundTask,
  "mock set": setTask,
  "mock fail": failTask,
  "mock succeed": succeedTask,
  capture: captureTask,
  request: requestTask,
  watch: watchTask,
  doctor: doctorTask,
} as const;

/** The name of a task, except those that read one operation. */
export type TaskName = keyof typeof tasks;

/** Loads what the tasks run. */
export interface ActionLoaders {
  readonly readAction: (operation: ReadOperationName) => ReturnType<Action>;
  readonly actions: Readonly<Record<TaskName, Action>>;
}

/**
 * The tasks of the plugin.
 *
 * @param load Called when a task runs.
 */
export function defineTasks(
  builders: Builders,
  load: () => Promise<ActionLoaders>,
): TaskDefinition[] {
  const { emptyTask } = builders;
  return [
    emptyTask("vault", "Read, settle and test the vault protocol").build(),
    emptyTask(
      ["vault", "mock"],
      "Script mocks that are deployed to a development node",
    ).build(),
    ...readOperationNames.map((operation) => {
      const { task: name, description, inputs } = operationEntry(operation);
      const definition = readTask(description, inputs);
      return defineTask(
        builders,
        name,
        definition,
        async () => await (await load()).readAction(operation),
      );
    }),
    ...keysOf(tasks).map((name) =>
      defineTask(
        builders,
        name,
        tasks[name],
        async () => await (await load()).actions[name](),
      ),
    ),
  ];
}

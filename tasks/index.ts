import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  TaskDefinition,
} from "hardhat/types/tasks";

import {
  keysOf,
  operationEntry,
  readOperationNames,
} from "../src/protocol/index.js";
import { readTask, tasks } from "./definitions.js";
import type { Task } from "./parse-options.js";

type LoadAction = LazyActionObject<NewTaskActionFunction>;

function define(
  name: string,
  { description: purpose, options }: Task,
  load: LoadAction,
): TaskDefinition {
  const builder = task(["vault", ...name.split(" ")], purpose);
  for (const [option, { kind, help, isRequired }] of Object.entries(options)) {
    // Hardhat has no required options.
    const description = isRequired ? `${help} (required)` : help;
    const named = { name: option, description };
    // Hardhat's own types check no bounds, and have errors without a code. Of a list,
    // the help would show a default of no values as "(default: )".
    const typed = { ...named, type: ArgumentType.STRING_WITHOUT_DEFAULT };
    switch (kind) {
      case "flag":
        builder.addFlag(named);
        break;
      case "option":
        builder.addOption({ ...typed, defaultValue: undefined });
        break;
      case "positional":
        builder.addPositionalArgument(named);
        break;
      case "variadic":
        builder.addVariadicArgument(typed);
        break;
    }
  }
  return builder.setAction(load).build();
}

/** Loads one action of a file that has several. */
function oneOf<Name extends string>(
  load: () => Promise<Readonly<Record<Name, NewTaskActionFunction>>>,
  name: Name,
): LoadAction {
  return async () => ({ default: (await load())[name] });
}

const ofMocks = () => import("./mock.js");

/** In the order in which the tasks are listed. */
const actions: Readonly<Record<keyof typeof tasks, LoadAction>> = {
  status: () => import("./status.js"),
  orders: oneOf(() => import("./lists.js"), "ordersAction"),
  rounds: oneOf(() => import("./lists.js"), "roundsAction"),
  report: () => import("./report.js"),
  simulate: oneOf(() => import("./settle.js"), "simulateAction"),
  settle: oneOf(() => import("./settle.js"), "settleAction"),
  "deploy-guard": oneOf(() => import("./settle.js"), "deployGuardAction"),
  "deploy-mocks": oneOf(ofMocks, "deployMocks"),
  "mock next-round": oneOf(ofMocks, "nextRound"),
  "mock set": oneOf(ofMocks, "set"),
  "mock fail": oneOf(ofMocks, "fail"),
  "mock succeed": oneOf(ofMocks, "succeed"),
  capture: oneOf(ofMocks, "captureAction"),
  request: oneOf(() => import("./read.js"), "requestAction"),
  watch: () => import("./watch.js"),
  doctor: () => import("./doctor.js"),
};

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  ...readOperationNames.map((operation) =>
    define(operationEntry(operation).task, readTask(operation), async () => ({
      default: (await import("./read.js")).createReadAction(operation),
    })),
  ),
  ...keysOf(actions).map((name) => define(name, tasks[name], actions[name])),
];

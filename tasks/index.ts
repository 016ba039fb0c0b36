import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  TaskDefinition,
} from "hardhat/types/tasks";

import { readOperationNames } from "../src/protocol/queries.js";
import * as tasks from "./definitions.js";
import type { Task } from "./parse-options.js";

type LoadAction = LazyActionObject<NewTaskActionFunction>;

function define(
  { name, description: purpose, options }: Task,
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

/** Loads one of the actions for mocks. */
function ofMocks(
  name: "deployMocks" | "nextRound" | "set" | "fail" | "succeed",
): LoadAction {
  return async () => ({ default: (await import("./mock.js"))[name] });
}

/** The tasks of the plugin, in the order in which they are listed. */
export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  ...readOperationNames.map((operation) =>
    define(tasks.readTask(operation), async () => ({
      default: (await import("./read.js")).createReadAction(operation),
    })),
  ),
  define(tasks.statusTask, () => import("./status.js")),
  define(tasks.ordersTask, () => import("./orders.js")),
  define(tasks.roundsTask, () => import("./rounds.js")),
  define(tasks.reportTask, () => import("./report.js")),
  define(tasks.simulateTask, () => import("./simulate.js")),
  define(tasks.settleTask, () => import("./settle.js")),
  define(tasks.deployGuardTask, () => import("./deploy-guard.js")),
  define(tasks.deployMocksTask, ofMocks("deployMocks")),
  define(tasks.nextRoundTask, ofMocks("nextRound")),
  define(tasks.setTask, ofMocks("set")),
  define(tasks.failTask, ofMocks("fail")),
  define(tasks.succeedTask, ofMocks("succeed")),
  define(tasks.captureTask, () => import("./capture.js")),
  define(tasks.requestTask, () => import("./request.js")),
  define(tasks.watchTask, () => import("./watch.js")),
  define(tasks.doctorTask, () => import("./doctor.js")),
];

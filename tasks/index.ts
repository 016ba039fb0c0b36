import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { keysOf } from "../src/protocol/keys-of.js";
import { operationEntry, readOperationNames } from "../src/protocol/index.js";
import { describeArgument, readArguments, taskArguments } from "./arguments.js";
import type { Arguments, TaskName } from "./arguments.js";

// Every run of Hardhat loads this file, so it loads no task.

function defineTask(
  name: string,
  description: string,
  action: LazyActionObject<NewTaskActionFunction>,
  described: Arguments,
): TaskDefinition {
  let builder: NewTaskDefinitionBuilder = task(
    ["vault", ...name.split(" ")],
    description,
  );
  for (const [argumentName, argument] of Object.entries(described)) {
    const { position, required } = argument;
    const shared = {
      name: argumentName,
      // Hardhat has no required options.
      description: `${describeArgument(argument)}${required === true ? " (required)" : ""}`,
    };
    if ("flag" in argument) {
      builder = builder.addFlag(shared);
    } else if (position === undefined) {
      // Hardhat's own types check no bounds, and have errors without a code.
      builder = builder.addOption({
        ...shared,
        type: ArgumentType.STRING_WITHOUT_DEFAULT,
        defaultValue: undefined,
      });
    } else if (position === "one") {
      builder = builder.addPositionalArgument(shared);
    } else {
      // The help shows a default of no values as "(default: )".
      const type = ArgumentType.STRING_WITHOUT_DEFAULT;
      builder = builder.addVariadicArgument({ ...shared, type });
    }
  }
  return builder.setAction(action).build();
}

const actions: {
  readonly [Name in TaskName]: readonly [
    description: string,
    action: LazyActionObject<NewTaskActionFunction>,
  ];
} = {
  status: ["Show every reading at one block", () => import("./status.js")],
  orders: ["List orders", () => import("./orders.js")],
  rounds: ["List every round, oldest first", () => import("./rounds.js")],
  report: ["Write a self-contained HTML report", () => import("./report.js")],
  settle: ["Settle the vault's current round", () => import("./settle.js")],
  simulate: ["Simulate a settlement", () => import("./simulate.js")],
  "deploy-guard": [
    "Deploy a guard, which settles one round or reverts",
    () => import("./deploy-guard.js"),
  ],
  "deploy-mocks": [
    "Deploy mocks of the six contracts",
    () => import("./deploy-mocks.js"),
  ],
  "mock next-round": [
    "Start a new round on the mocks",
    async () => ({ default: (await import("./mock.js")).nextRound }),
  ],
  "mock set": [
    "Change values that the mocks return",
    async () => ({ default: (await import("./mock.js")).set }),
  ],
  "mock fail": [
    "Make an operation of the mocks revert",
    async () => ({ default: (await import("./mock.js")).fail }),
  ],
  "mock succeed": [
    "Make an operation of the mocks succeed again",
    async () => ({ default: (await import("./mock.js")).succeed }),
  ],
  capture: [
    "Record every reading as a fixture for tests",
    () => import("./capture.js"),
  ],
  request: [
    "Print the JSON-RPC request of an operation",
    () => import("./request.js"),
  ],
  watch: ["Show each change of the readings", () => import("./watch.js")],
  doctor: ["Check network, contracts and signer", () => import("./doctor.js")],
  decode: [
    "Decode call data, returned data or revert data",
    () => import("./decode.js"),
  ],
};

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  ...readOperationNames.map((operation) => {
    const { task: name, description, inputs } = operationEntry(operation);
    return defineTask(
      name,
      description,
      async () => ({
        default: (await import("./read.js")).createReadAction(operation),
      }),
      readArguments(inputs),
    );
  }),
  ...keysOf(actions).map((name) =>
    defineTask(name, ...actions[name], taskArguments[name]),
  ),
];

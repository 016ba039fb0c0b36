import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { keysOf } from "../src/protocol/keys-of.js";
import { operationEntry, readOperationNames } from "../src/protocol/queries.js";
import { describeArgument, readArguments, taskArguments } from "./arguments.js";
import type { Arguments, TaskName } from "./arguments.js";

// This file describes the tasks and loads none of them: it is imported by every
// run of Hardhat.

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
      // As Hardhat's own `(default: …)`: it knows of no required option.
      description: `${describeArgument(argument)}${required === true ? " (required)" : ""}`,
    };
    if ("flag" in argument) {
      builder = builder.addFlag(shared);
    } else if (position === undefined) {
      // Values are parsed by us and not by Hardhat, whose integers have no
      // bound and whose errors are not ours.
      builder = builder.addOption({
        ...shared,
        type: ArgumentType.STRING_WITHOUT_DEFAULT,
        defaultValue: undefined,
      });
    } else if (position === "one") {
      builder = builder.addPositionalArgument(shared);
    } else {
      builder = builder.addVariadicArgument({ ...shared, defaultValue: [] });
    }
  }
  return builder.setAction(action).build();
}

/** What each task does, in words and by a file that is loaded when it is run. */
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
  "deploy-mocks": [
    "Deploy mocks of the six contracts",
    () => import("./deploy-mocks.js"),
  ],
  "mock next-round": [
    "Put a new round in place of the mocks' latest",
    async () => ({ default: (await import("./mock.js")).nextRound }),
  ],
  "mock set": [
    "Change what the mocks answer",
    async () => ({ default: (await import("./mock.js")).set }),
  ],
  "mock fail": [
    "Let an operation of the mocks revert",
    async () => ({ default: (await import("./mock.js")).fail }),
  ],
  "mock succeed": [
    "Let an operation of the mocks succeed again",
    async () => ({ default: (await import("./mock.js")).succeed }),
  ],
  capture: ["Record every reading for tests", () => import("./capture.js")],
  request: ["Print a JSON-RPC request", () => import("./request.js")],
  watch: ["Show changes until something happens", () => import("./watch.js")],
  doctor: ["Check network, contracts and signer", () => import("./doctor.js")],
  decode: ["Decode a call, answer or error", () => import("./decode.js")],
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

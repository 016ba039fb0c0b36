import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { operationEntry, readOperationNames } from "../src/protocol/queries.js";
import { readArguments, taskArguments } from "./arguments.js";
import type { Argument, ArgumentsOf, TaskName } from "./arguments.js";

// This file describes the tasks and loads none of them: it is imported by every
// run of Hardhat.

function defineTask(
  name: string,
  description: string,
  described: Readonly<Record<string, Argument>>,
  action: LazyActionObject<NewTaskActionFunction<never>>,
): TaskDefinition {
  let builder: NewTaskDefinitionBuilder = task(
    ["vault", ...name.split(" ")],
    description,
  );
  for (const [argument, text] of Object.entries(described)) {
    if (typeof text === "string") {
      // Values are parsed by us and not by Hardhat, whose integers have no
      // bound and whose errors are not ours.
      builder = builder.addOption({
        name: argument,
        description: text,
        type: ArgumentType.STRING_WITHOUT_DEFAULT,
        defaultValue: undefined,
      });
    } else if ("flag" in text) {
      builder = builder.addFlag({ name: argument, description: text.flag });
    } else if ("positional" in text) {
      builder = builder.addPositionalArgument({
        name: argument,
        description: text.positional,
      });
    } else {
      builder = builder.addVariadicArgument({
        name: argument,
        description: text.variadic,
        defaultValue: [],
      });
    }
  }
  return (
    builder
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each has the type of its arguments where the actions are listed
      .setAction(action as LazyActionObject<NewTaskActionFunction>)
      .build()
  );
}

/** What each task does, in words and by a file that is loaded when it is run. */
const actions: {
  readonly [Name in TaskName]: readonly [
    description: string,
    action: LazyActionObject<NewTaskActionFunction<ArgumentsOf<Name>>>,
  ];
} = {
  status: [
    "Show every reading of the vault at one block",
    () => import("./status.js"),
  ],
  orders: [
    "List orders: all there are, a range, or those named",
    () => import("./orders.js"),
  ],
  rounds: [
    "List every round that the vault ever had, oldest first",
    () => import("./rounds.js"),
  ],
  report: [
    "Write a page to look at: one HTML file that needs nothing",
    () => import("./report.js"),
  ],
  settle: ["Settle the vault's current round", () => import("./settle.js")],
  simulate: [
    "Simulate a settlement, show every value before and after, and send nothing",
    () => import("./simulate.js"),
  ],
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
  capture: [
    "Record every reading at one block, for tests to replay with mocks",
    () => import("./capture.js"),
  ],
  request: [
    "Print the JSON-RPC request of an operation",
    () => import("./request.js"),
  ],
  watch: [
    "Show what changes, as it changes, until something happens",
    () => import("./watch.js"),
  ],
  doctor: [
    "Check the network, the contracts and the signer, and say what to mend",
    () => import("./doctor.js"),
  ],
  decode: [
    "Say what bytes are: a call, an answer or an error",
    () => import("./decode.js"),
  ],
};

const argumentsOf: Readonly<
  Record<string, Readonly<Record<string, Argument>>>
> = taskArguments;

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  ...readOperationNames.map((operation) => {
    const { task: name, description, inputs } = operationEntry(operation);
    return defineTask(name, description, readArguments(inputs), async () => ({
      default: (await import("./read.js")).createReadAction(operation),
    }));
  }),
  ...Object.entries(actions).map(([name, [description, action]]) =>
    defineTask(name, description, argumentsOf[name] ?? {}, action),
  ),
];

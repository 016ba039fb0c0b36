import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import {
  operationEntry,
  readOperationNames,
} from "../src/protocol/readings.js";
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
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each has the type of its arguments where the tasks are listed
      .setAction(action as LazyActionObject<NewTaskActionFunction>)
      .build()
  );
}

function vaultTask<Name extends TaskName>(
  name: Name,
  description: string,
  action: LazyActionObject<NewTaskActionFunction<ArgumentsOf<Name>>>,
): TaskDefinition {
  return defineTask(name, description, taskArguments[name], action);
}

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  ...readOperationNames.map((operation) => {
    const { task: name, description, inputs } = operationEntry(operation);
    return defineTask(name, description, readArguments(inputs), async () => ({
      default: (await import("./read.js")).createReadAction(operation),
    }));
  }),
  vaultTask(
    "status",
    "Show every reading of the vault at one block",
    () => import("./status.js"),
  ),
  vaultTask(
    "orders",
    "List orders: all there are, a range, or those named",
    () => import("./orders.js"),
  ),
  vaultTask(
    "rounds",
    "List every round that the vault ever had, oldest first",
    () => import("./rounds.js"),
  ),
  vaultTask(
    "report",
    "Write a page to look at: one HTML file that needs nothing",
    () => import("./report.js"),
  ),
  vaultTask(
    "settle",
    "Settle the vault's current round",
    () => import("./settle.js"),
  ),
  vaultTask(
    "simulate",
    "Rehearse a settlement, show every value before and after, and send nothing",
    () => import("./simulate.js"),
  ),
  vaultTask(
    "rehearse",
    "Rehearse a settlement at past blocks; nothing is sent",
    () => import("./rehearse.js"),
  ),
  vaultTask(
    "deploy-mocks",
    "Deploy mocks of the six contracts",
    () => import("./deploy-mocks.js"),
  ),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  vaultTask(
    "mock next-round",
    "Put a new round in place of the mocks' latest",
    async () => ({ default: (await import("./mock.js")).nextRound }),
  ),
  vaultTask("mock set", "Change what the mocks answer", async () => ({
    default: (await import("./mock.js")).set,
  })),
  vaultTask("mock fail", "Let an operation of the mocks revert", async () => ({
    default: (await import("./mock.js")).fail,
  })),
  vaultTask(
    "mock succeed",
    "Let an operation of the mocks succeed again",
    async () => ({ default: (await import("./mock.js")).succeed }),
  ),
  vaultTask(
    "capture",
    "Record every reading at one block, for tests to replay with mocks",
    () => import("./capture.js"),
  ),
  vaultTask(
    "request",
    "Print the JSON-RPC request of an operation",
    () => import("./request.js"),
  ),
  vaultTask(
    "watch",
    "Show what changes, as it changes, until something happens",
    () => import("./watch.js"),
  ),
  vaultTask(
    "doctor",
    "Check the network, the contracts and the signer, and say what to mend",
    () => import("./doctor.js"),
  ),
  vaultTask(
    "decode",
    "Say what bytes are: a call, an answer or an error",
    () => import("./decode.js"),
  ),
];

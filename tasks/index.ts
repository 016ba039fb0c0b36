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
import { actions } from "./actions.js";
import { readArguments, taskArguments } from "./arguments.js";
import type { Argument, ArgumentsOf, ValuesOf } from "./arguments.js";

// This file describes the tasks and loads none of them: it is imported by every
// run of Hardhat.

function defineTask<Described extends Readonly<Record<string, Argument>>>(
  name: string,
  description: string,
  described: Described,
  action: LazyActionObject<NewTaskActionFunction<ValuesOf<Described>>>,
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
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop above added what is described, one by one
      .setAction(action as LazyActionObject<NewTaskActionFunction>)
      .build()
  );
}

function vaultTask<Name extends keyof typeof taskArguments>(
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
    return defineTask(name, description, readArguments(inputs), () =>
      actions.read(operation),
    );
  }),
  vaultTask(
    "status",
    "Show every reading of the vault at one block",
    actions.status,
  ),
  vaultTask(
    "orders",
    "List orders: all there are, a range, or those named",
    actions.orders,
  ),
  vaultTask(
    "rounds",
    "List every round that the vault ever had, oldest first",
    actions.rounds,
  ),
  vaultTask(
    "report",
    "Write a page to look at: one HTML file that needs nothing",
    actions.report,
  ),
  vaultTask("settle", "Settle the vault's current round", actions.settle),
  vaultTask(
    "simulate",
    "Rehearse a settlement, show every value before and after, and send nothing",
    actions.simulate,
  ),
  vaultTask(
    "rehearse",
    "Rehearse a settlement at past blocks; nothing is sent",
    actions.rehearse,
  ),
  vaultTask(
    "deploy-mocks",
    "Deploy mocks of the six contracts",
    actions.deployMocks,
  ),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  vaultTask(
    "mock next-round",
    "Put a new round in place of the mocks' latest",
    actions.mockNextRound,
  ),
  vaultTask("mock set", "Change what the mocks answer", actions.mockSet),
  vaultTask(
    "mock fail",
    "Let an operation of the mocks revert",
    actions.mockFail,
  ),
  vaultTask(
    "mock succeed",
    "Let an operation of the mocks succeed again",
    actions.mockSucceed,
  ),
  vaultTask(
    "capture",
    "Record every reading at one block, for tests to replay with mocks",
    actions.capture,
  ),
  vaultTask(
    "request",
    "Print the JSON-RPC request of an operation",
    actions.request,
  ),
  vaultTask(
    "watch",
    "Show what changes, as it changes, until something happens",
    actions.watch,
  ),
  vaultTask(
    "doctor",
    "Check the network, the contracts and the signer, and say what to mend",
    actions.doctor,
  ),
  vaultTask(
    "decode",
    "Say what bytes are: a call, an answer or an error",
    actions.decode,
  ),
];

import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  LazyActionObject,
  NewTaskActionFunction,
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { operationEntry, readOperationNames } from "../src/protocol/queries.js";
import { captureOptions } from "./capture-options.js";
import { decodeOptions } from "./decode-options.js";
import { deployGuardOptions } from "./deploy-guard-options.js";
import { deployMocksOptions } from "./deploy-mocks-options.js";
import { doctorOptions } from "./doctor-options.js";
import {
  failOptions,
  nextRoundOptions,
  setOptions,
  succeedOptions,
} from "./mock-options.js";
import type { Options } from "./options.js";
import { ordersOptions } from "./orders-options.js";
import { readOptions } from "./read-options.js";
import { reportOptions } from "./report-options.js";
import { requestOptions } from "./request-options.js";
import { roundsOptions } from "./rounds-options.js";
import { settleOptions } from "./settle-options.js";
import { simulateOptions } from "./simulate-options.js";
import { statusOptions } from "./status-options.js";
import { watchOptions } from "./watch-options.js";

// Every run of Hardhat loads this file, so it loads no action.

/** A task that is listed by `npx hardhat --help`. */
type Row = readonly [
  name: string,
  description: string,
  options: Options,
  action: LazyActionObject<NewTaskActionFunction>,
];

function defineTask([name, description, options, action]: Row): TaskDefinition {
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

/** In the order in which they are listed. */
const rows: readonly Row[] = [
  ...readOperationNames.map((operation): Row => {
    const { task: name, description, inputs } = operationEntry(operation);
    return [
      name,
      description,
      readOptions(inputs),
      async () => ({
        default: (await import("./read.js")).createReadAction(operation),
      }),
    ];
  }),
  [
    "status",
    "Show every reading at one block",
    statusOptions,
    () => import("./status.js"),
  ],
  ["orders", "List orders", ordersOptions, () => import("./orders.js")],
  [
    "rounds",
    "List every round, oldest first",
    roundsOptions,
    () => import("./rounds.js"),
  ],
  [
    "report",
    "Write a self-contained HTML report",
    reportOptions,
    () => import("./report.js"),
  ],
  [
    "settle",
    "Settle the vault's current round",
    settleOptions,
    () => import("./settle.js"),
  ],
  [
    "simulate",
    "Simulate a settlement",
    simulateOptions,
    () => import("./simulate.js"),
  ],
  [
    "deploy-guard",
    "Deploy a guard, which settles one round or reverts",
    deployGuardOptions,
    () => import("./deploy-guard.js"),
  ],
  [
    "deploy-mocks",
    "Deploy mocks of the six contracts",
    deployMocksOptions,
    () => import("./deploy-mocks.js"),
  ],
  [
    "mock next-round",
    "Start a new round on the mocks",
    nextRoundOptions,
    async () => ({ default: (await import("./mock.js")).nextRound }),
  ],
  [
    "mock set",
    "Change values that the mocks return",
    setOptions,
    async () => ({ default: (await import("./mock.js")).set }),
  ],
  [
    "mock fail",
    "Make an operation of the mocks revert",
    failOptions,
    async () => ({ default: (await import("./mock.js")).fail }),
  ],
  [
    "mock succeed",
    "Make an operation of the mocks succeed again",
    succeedOptions,
    async () => ({ default: (await import("./mock.js")).succeed }),
  ],
  [
    "capture",
    "Record every reading as a fixture for tests",
    captureOptions,
    () => import("./capture.js"),
  ],
  [
    "request",
    "Print the JSON-RPC request of an operation",
    requestOptions,
    () => import("./request.js"),
  ],
  [
    "watch",
    "Show each change of the readings",
    watchOptions,
    () => import("./watch.js"),
  ],
  [
    "doctor",
    "Check network, contracts and signer",
    doctorOptions,
    () => import("./doctor.js"),
  ],
  [
    "decode",
    "Decode call data, returned data or revert data",
    decodeOptions,
    () => import("./decode.js"),
  ],
];

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  ...rows.map(defineTask),
];

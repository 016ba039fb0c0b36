import type {
  LazyActionObject,
  NewTaskActionFunction,
} from "hardhat/types/tasks";

import type { ReadOperationName } from "../src/protocol/types.js";
import type { ArgumentsOf, ReadArguments, TaskName } from "./arguments.js";

/**
 * What each task does, loaded when it is run; in a file of its own for the
 * reason that src/client/on-demand.ts gives.
 */
export const actions: {
  readonly [Name in TaskName]: LazyActionObject<
    NewTaskActionFunction<ArgumentsOf<Name>>
  >;
} = {
  status: () => import("./status.js"),
  orders: () => import("./orders.js"),
  rounds: () => import("./rounds.js"),
  report: () => import("./report.js"),
  settle: () => import("./settle.js"),
  simulate: () => import("./simulate.js"),
  rehearse: () => import("./rehearse.js"),
  "deploy-mocks": () => import("./deploy-mocks.js"),
  "mock next-round": async () => ({
    default: (await import("./mock.js")).nextRound,
  }),
  "mock set": async () => ({ default: (await import("./mock.js")).set }),
  "mock fail": async () => ({ default: (await import("./mock.js")).fail }),
  "mock succeed": async () => ({
    default: (await import("./mock.js")).succeed,
  }),
  capture: () => import("./capture.js"),
  request: () => import("./request.js"),
  watch: () => import("./watch.js"),
  doctor: () => import("./doctor.js"),
  decode: () => import("./decode.js"),
};

/** The same of the task that reads an operation. */
export function operationAction(
  operation: ReadOperationName,
): LazyActionObject<NewTaskActionFunction<ReadArguments>> {
  return async () => ({
    default: (await import("./read.js")).createReadAction(operation),
  });
}

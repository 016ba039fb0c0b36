import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { ReadOperationName } from "../src/protocol/index.js";
import type { WrittenTaskName } from "./definitions/index.js";

// Apart from the definitions, which every start loads, and from other code, for the reason
// in src/plugin/on-demand.ts.

type LoadedAction = Promise<{ default: NewTaskActionFunction }>;

async function mockAction(
  name: "nextRound" | "set" | "fail" | "succeed",
): LoadedAction {
  return { default: (await import("./mock.js"))[name] };
}

export async function loadReadAction(
  operation: ReadOperationName,
): LoadedAction {
  return { default: (await import("./read.js")).createReadAction(operation) };
}

/** What a task runs, by its name. */
export const actions: Readonly<Record<WrittenTaskName, () => LoadedAction>> = {
  status: () => import("./status.js"),
  orders: () => import("./orders.js"),
  rounds: () => import("./rounds.js"),
  report: () => import("./report.js"),
  simulate: () => import("./simulate.js"),
  settle: () => import("./settle.js"),
  "deploy-guard": () => import("./deploy-guard.js"),
  "deploy-mocks": () => import("./deploy-mocks.js"),
  "mock next-round": () => mockAction("nextRound"),
  "mock set": () => mockAction("set"),
  "mock fail": () => mockAction("fail"),
  "mock succeed": () => mockAction("succeed"),
  capture: () => import("./capture.js"),
  request: () => import("./request.js"),
  watch: () => import("./watch.js"),
  doctor: () => import("./doctor.js"),
  decode: () => import("./decode.js"),
};

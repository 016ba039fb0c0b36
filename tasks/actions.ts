import type { ActionLoaders } from "./definitions/index.js";

// tsx, which loads a configuration in TypeScript, rewrites each file with an `import()`, in
// time that grows with the file. So these are in a small one, which no start loads.

type Loaders = ActionLoaders["actions"];

function mockAction(
  name: "nextRound" | "set" | "fail" | "succeed",
): Loaders[keyof Loaders] {
  return async () => ({ default: (await import("./mock.js"))[name] });
}

export const readAction: ActionLoaders["readAction"] = async (operation) => ({
  default: (await import("./read.js")).createReadAction(operation),
});

/** By the name of the task. */
export const actions: Loaders = {
  status: () => import("./status.js"),
  orders: () => import("./orders.js"),
  rounds: () => import("./rounds.js"),
  report: () => import("./report.js"),
  simulate: () => import("./simulate.js"),
  settle: () => import("./settle.js"),
  "deploy-guard": () => import("./deploy-guard.js"),
  "deploy-mocks": () => import("./deploy-mocks.js"),
  "mock next-round": mockAction("nextRound"),
  "mock set": mockAction("set"),
  "mock fail": mockAction("fail"),
  "mock succeed": mockAction("succeed"),
  capture: () => import("./capture.js"),
  request: () => import("./request.js"),
  watch: () => import("./watch.js"),
  doctor: () => import("./doctor.js"),
};

import { defineTasks } from "./definitions/index.js";
import type { Action } from "./definitions/index.js";

// Every start of Hardhat loads this file, and tsx, which loads a configuration in
// TypeScript, rewrites each file with an `import()`, in time that grows with the file. So
// it has nothing else.

function mockAction(name: "nextRound" | "set" | "fail" | "succeed"): Action {
  return async () => ({ default: (await import("./mock.js"))[name] });
}

export const vaultTasks = defineTasks(
  (operation) => async () => ({
    default: (await import("./read.js")).createReadAction(operation),
  }),
  {
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
    decode: () => import("./decode.js"),
  },
);

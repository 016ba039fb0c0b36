/* eslint-disable @typescript-eslint/explicit-module-boundary-types -- each has the type of its file, against which a task's definition is checked */
import type { ReadOperationName } from "../src/protocol/types.js";

/**
 * What each task does, loaded when it is run; in a file of its own for the
 * reason that src/client/on-demand.ts gives.
 */
export const actions = {
  read: async (operation: ReadOperationName) => ({
    default: (await import("./read.js")).createReadAction(operation),
  }),
  status: () => import("./status.js"),
  orders: () => import("./orders.js"),
  rounds: () => import("./rounds.js"),
  report: () => import("./report.js"),
  settle: () => import("./settle.js"),
  simulate: () => import("./simulate.js"),
  rehearse: () => import("./rehearse.js"),
  deployMocks: () => import("./deploy-mocks.js"),
  capture: () => import("./capture.js"),
  request: () => import("./request.js"),
  watch: () => import("./watch.js"),
  doctor: () => import("./doctor.js"),
  decode: () => import("./decode.js"),
  mockNextRound: async () => ({
    default: (await import("./mock.js")).nextRound,
  }),
  mockSet: async () => ({ default: (await import("./mock.js")).set }),
  mockFail: async () => ({ default: (await import("./mock.js")).fail }),
  mockSucceed: async () => ({ default: (await import("./mock.js")).succeed }),
};

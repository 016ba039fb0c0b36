import { benchDeployMocks } from "./deploy-mocks.js";
import type { Extent, Section } from "./measure.js";
import { benchMemory } from "./memory.js";
import { benchOrdersTask } from "./orders-task.js";
import { benchOrdersInProcess, benchOrdersOverHttp } from "./orders.js";
import { benchPluginCost } from "./plugin-cost.js";
import { benchRounds } from "./rounds.js";
import { benchSettle } from "./settle.js";
import { benchSimulateOnNode, benchSimulateOnFork } from "./simulate.js";
import { benchSnapshot } from "./snapshot.js";
import { benchSolidityMocks } from "./solidity-mocks.js";

/** Every benchmark, by name, in the order in which they run. */
export const benchmarks: Readonly<
  Record<string, (extent: Extent) => Promise<Section | Section[]>>
> = {
  snapshot: benchSnapshot,
  "orders-http": benchOrdersOverHttp,
  "orders-in-process": benchOrdersInProcess,
  "orders-task": benchOrdersTask,
  memory: benchMemory,
  "deploy-mocks": benchDeployMocks,
  "solidity-mocks": benchSolidityMocks,
  rounds: benchRounds,
  "simulate-on-node": benchSimulateOnNode,
  "simulate-on-fork": benchSimulateOnFork,
  settle: benchSettle,
  "plugin-cost": benchPluginCost,
};

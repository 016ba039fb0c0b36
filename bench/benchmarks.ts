import { benchFixture } from "./fixture.js";
import { benchLatency } from "./latency.js";
import type { Extent, Section } from "./measure.js";
import { benchMemory } from "./memory.js";
import { benchOrders } from "./orders.js";
import {
  benchFirstConnection,
  benchHelp,
  benchRoundTask,
} from "./plugin-cost.js";
import { benchSimulateOnFork, benchSimulateOnNode } from "./simulate.js";
import { benchSnapshot } from "./snapshot.js";

/** Every benchmark, by name, in the order in which they run. */
export const benchmarks: Readonly<
  Record<string, (extent: Extent) => Promise<Section>>
> = {
  snapshot: benchSnapshot,
  "orders-http": benchOrders,
  memory: benchMemory,
  fixture: benchFixture,
  "simulate-on-node": benchSimulateOnNode,
  "simulate-on-fork": benchSimulateOnFork,
  latency: benchLatency,
  "plugin-cost-help": benchHelp,
  "plugin-cost-connection": benchFirstConnection,
  "plugin-cost-round": benchRoundTask,
};

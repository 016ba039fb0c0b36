import { benchLatency } from "./latency.js";
import type { Extent, Figure } from "./measure.js";
import { benchMemory } from "./memory.js";
import { benchOrders } from "./orders.js";
import { benchStartUp } from "./start-up.js";
import { benchSimulateOnFork, benchSimulateOnNode } from "./simulate.js";
import { benchSnapshot } from "./snapshot.js";
import { deployment, mocks } from "./worlds.js";
import type { World } from "./worlds.js";

interface Benchmark {
  readonly run: (extent: Extent, world: World) => Promise<readonly Figure[]>;
  readonly worlds: readonly World[];
}

const both = [mocks, deployment];

/** Every benchmark, by name, in the order in which they run. */
export const benchmarks: Readonly<Record<string, Benchmark>> = {
  latency: { run: benchLatency, worlds: both },
  snapshot: { run: benchSnapshot, worlds: both },
  simulate: { run: benchSimulateOnNode, worlds: both },
  fork: { run: benchSimulateOnFork, worlds: both },
  orders: { run: benchOrders, worlds: both },
  memory: { run: benchMemory, worlds: both },
  "start-up": { run: benchStartUp, worlds: [mocks] },
};

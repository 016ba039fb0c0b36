import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";

import type { Eip1193Provider } from "./eip1193.js";
import { originOf } from "./patient.js";

const mutexes = new WeakMap<object, AsyncMutex>();

/**
 * Changes a development chain one task after the other: what one reads and writes
 * back, or a snapshot that it reverts, must not meet what another does meanwhile.
 */
export async function inOrder<Result>(
  { provider }: { readonly provider: Eip1193Provider },
  task: () => Promise<Result>,
): Promise<Result> {
  const origin = originOf(provider);
  const mutex = mutexes.get(origin) ?? new AsyncMutex();
  mutexes.set(origin, mutex);
  return await mutex.exclusiveRun(task);
}

import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";

import type { Eip1193Provider } from "./eip1193.js";
import { originOf } from "./patient.js";

const mutexes = new WeakMap<object, AsyncMutex>();

/**
 * Does what changes a development chain after all that was begun before on the
 * same chain: what is read and written back must not be what another changes
 * meanwhile, an account that sends has one transaction at a time, and reverting
 * the snapshot of a simulation would undo what others did since.
 *
 * @param provider The way to the chain.
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

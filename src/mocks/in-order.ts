import { AsyncMutex } from "@nomicfoundation/hardhat-utils/synchronization";

const mutexes = new WeakMap<object, AsyncMutex>();

/**
 * Does what scripts mocks after all that was begun before on the same chain:
 * what is read and written back must not be what another changes meanwhile, and
 * the account that sends has one transaction at a time.
 *
 * @param provider The way to the chain.
 */
export async function inOrder<Result>(
  { provider }: { readonly provider: object },
  task: () => Promise<Result>,
): Promise<Result> {
  const mutex = mutexes.get(provider) ?? new AsyncMutex();
  mutexes.set(provider, mutex);
  return await mutex.exclusiveRun(task);
}

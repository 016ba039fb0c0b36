/**
 * Seconds of this thread's processor time that some work takes, however busy the
 * machine is; whatever else the thread does meanwhile counts, waiting does not.
 */
export async function cpuSecondsOf(work: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000_000;
}

/** The least that some runs take, of which one may meet the machine's garbage. */
export async function leastOf(
  runs: number,
  measure: () => Promise<number>,
): Promise<number> {
  let least = await measure();
  for (let run = 1; run < runs; ++run) {
    least = Math.min(least, await measure());
  }
  return least;
}

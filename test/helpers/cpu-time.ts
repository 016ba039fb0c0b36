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

/** The longest that a timer of Node.js waits. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Waits for the work, which is not begun after its time or a signal's abort.
 *
 * @param signals A list, because Node.js 22 collects a deadline that only
 * `AbortSignal.any()` refers to: the wait would not end.
 * @param milliseconds The timer keeps the process running, as no `AbortSignal.timeout()` does.
 * @param late Makes the error of a wait that took too long.
 * @throws The reason of the first signal that is aborted before the work is done
 */
export async function orAbort<T>(
  work: () => Promise<T>,
  signals: readonly AbortSignal[],
  milliseconds = Infinity,
  late: () => unknown = () => new Error("it took too long"),
): Promise<T> {
  for (const signal of signals) {
    signal.throwIfAborted();
  }
  if (milliseconds <= 0) {
    throw late();
  }
  let end: ((reason: unknown) => void) | undefined;
  const onAbort = (): void =>
    end?.(signals.find(({ aborted }) => aborted)?.reason);
  for (const signal of signals) {
    signal.addEventListener("abort", onAbort);
  }
  const timer = setTimeout(
    () => end?.(late()),
    Math.min(milliseconds, LONGEST_MS),
  );
  try {
    return await new Promise<T>((resolve, reject) => {
      end = reject;
      work().then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    for (const signal of signals) {
      signal.removeEventListener("abort", onAbort);
    }
    // Node.js keeps removed listeners for long: this one must not keep the answer.
    end = undefined;
  }
}

/** Waits for the work; resolves to undefined if the signal is aborted before. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  // It may fail later, when nobody waits for it.
  work.catch(() => undefined);
  return await orAbort(async () => await work, [signal]).catch(
    (error: unknown) => {
      if (signal.aborted && error === signal.reason) {
        return undefined;
      }
      throw error;
    },
  );
}

/** Waits; shorter, and without an error, if a signal is aborted before. */
export async function pause(
  milliseconds: number,
  ...signals: readonly AbortSignal[]
): Promise<void> {
  const never = async (): Promise<never> => await new Promise(() => undefined);
  await orAbort(never, signals, milliseconds).catch(() => undefined);
}

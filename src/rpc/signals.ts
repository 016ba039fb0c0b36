// Each takes several signals, because Node.js 22 collects a deadline that only
// `AbortSignal.any()` refers to: the request would not end.

/**
 * Waits for the work; throws the reason of the first signal that comes before it.
 *
 * @param work With a function, parts of the work can wait for `over`, too: it rejects
 * when a signal comes.
 */
export async function orAbort<T>(
  work: Promise<T> | ((over: Promise<never>) => Promise<T>),
  ...signals: readonly AbortSignal[]
): Promise<T> {
  if (signals.length === 0) {
    const never = new Promise<never>(() => undefined);
    return await (typeof work === "function" ? work(never) : work);
  }
  let end: ((reason: unknown) => void) | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    end = reject;
  });
  const onAbort = (): void => end?.(firstAborted(signals)?.reason);
  for (const signal of signals) {
    signal.addEventListener("abort", onAbort);
  }
  // The timer of AbortSignal.timeout() does not keep the process running.
  const alive = setInterval(() => undefined, 2 ** 30);
  if (firstAborted(signals) !== undefined) {
    onAbort();
  }
  try {
    const working = typeof work === "function" ? work(over) : work;
    return await Promise.race([working, over]);
  } finally {
    clearInterval(alive);
    for (const signal of signals) {
      signal.removeEventListener("abort", onAbort);
    }
    // Node.js keeps removed listeners for long: this one must not keep the answer.
    end = undefined;
  }
}

export function firstAborted(
  signals: readonly AbortSignal[],
): AbortSignal | undefined {
  return signals.find(({ aborted }) => aborted);
}

/** Waits for the work; resolves to undefined if a signal comes first. */
export async function unlessAborted<T>(
  work: Promise<T>,
  ...signals: readonly AbortSignal[]
): Promise<T | undefined> {
  return await orAbort(work, ...signals).catch((error: unknown) => {
    if (!isAbortOf(signals, error)) {
      throw error;
    }
    return undefined;
  });
}

/** True for the error of what one of the signals has ended. */
export function isAbortOf(
  signals: readonly AbortSignal[],
  error: unknown,
): boolean {
  return signals.some(({ aborted, reason }) => aborted && error === reason);
}

/** Waits; shorter, and without an error, if a signal comes first. */
export async function pause(
  milliseconds: number,
  ...signals: readonly AbortSignal[]
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await unlessAborted(time, ...signals);
  clearTimeout(timer);
}

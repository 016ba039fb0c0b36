/** Waits for the work; throws the signal's reason if that comes first. */
export async function orAbort<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  // `addAbortListener` takes several times as long, and each read has three.
  let onAbort = (): void => undefined;
  const over = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the caller chose it
      reject(signal.reason);
    };
  });
  signal.addEventListener("abort", onAbort);
  // The timer of AbortSignal.timeout() does not keep the process running.
  const alive = setInterval(() => undefined, 2 ** 30);
  if (signal.aborted) {
    onAbort();
  }
  try {
    return await Promise.race([work, over]);
  } finally {
    clearInterval(alive);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Waits for the work; resolves to undefined if the signal comes first. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    return await orAbort(work, signal);
  } catch (error) {
    if (isAbortOf(signal, error)) {
      return undefined;
    }
    throw error;
  }
}

/** True for the error of what the signal has ended. */
export function isAbortOf(signal: AbortSignal, error: unknown): boolean {
  return signal.aborted && error === signal.reason;
}

/** Waits; shorter, and without an error, if the signal comes first. */
export async function pause(
  milliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  if (milliseconds <= 0 || signal.aborted) {
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await unlessAborted(time, signal);
  clearTimeout(timer);
}

/** A signal that aborts with the first of these. */
export function anyOf(signals: readonly AbortSignal[]): AbortSignal {
  const [only] = signals;
  return only !== undefined && signals.length === 1
    ? only
    : AbortSignal.any([...signals]);
}

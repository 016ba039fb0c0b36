import { aborted } from "node:util";

export class Deadline {
  readonly #end: number;

  constructor(milliseconds: number) {
    this.#end = performance.now() + milliseconds;
  }

  /** Milliseconds, 0 once it is over. */
  public get remaining(): number {
    const left = this.#end - performance.now();
    // Node.js ends most timers a little early: measured, up to 2 ms.
    return left > 2 ? left : 0;
  }

  public get isOver(): boolean {
    return this.remaining === 0;
  }

  /** Waits, but not beyond the deadline. */
  public async pause(milliseconds: number): Promise<void> {
    const time = Math.min(milliseconds, this.remaining);
    if (time > 0) {
      await new Promise((resolve) => {
        setTimeout(resolve, time);
      });
    }
  }

  /**
   * Resolves to undefined if the deadline comes first. The work goes on, because a
   * request cannot be cancelled.
   */
  public async within<T>(work: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    // Aborting a promised timer would create an error for every request.
    const over = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, this.remaining, undefined);
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Waits for the work; throws the signal's reason if that comes first. */
export async function orAbort<T>(
  work: Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  // Stops listening when the work is garbage-collected.
  const ended = aborted(signal, work).then(async () => {
    signal.throwIfAborted();
    return await work;
  });
  return await Promise.race([work, ended]);
}

import { aborted } from "node:util";

/** The moment until which something is waited for. */
export class Deadline {
  readonly #end: number;

  constructor(milliseconds: number) {
    this.#end = performance.now() + milliseconds;
  }

  /** Milliseconds, 0 once it is over. */
  public get remaining(): number {
    return Math.max(0, this.#end - performance.now());
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
   * The result of the work, or undefined if the deadline comes first. The work
   * itself goes on: a request cannot be called back.
   */
  public async within<T>(work: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    // Not a sleep that is aborted: that makes an error for every request.
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

/** Waits for the work or for the signal, whichever is first. */
export async function orAbort<T>(
  work: Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  // Listens no longer than there is the work.
  const ended = aborted(signal, work).then(async () => {
    signal.throwIfAborted();
    return await work;
  });
  return await Promise.race([work, ended]);
}

import type { Verdict } from "../assert/assertion.js";

/** The checks that nobody awaits, and that are not decided. */
const undecided = new Set<PendingCheck>();
let isListening = false;

/**
 * The check of an assertion. If nobody awaits it, it fails the run as soon as it fails,
 * or if it is undecided when the process ends: Hardhat's Mocha prints a hint for a
 * rejected promise, and passes.
 */
export class PendingCheck {
  #isAwaited = false;

  public constructor(
    private readonly found: Promise<Verdict>,
    public readonly matcher: string,
  ) {
    undecided.add(this);
    if (!isListening) {
      isListening = true;
      process.on("exit", failForUndecided);
    }
    found.then(
      () => undecided.delete(this),
      (error: unknown) => {
        // As late as Node.js reports a rejected promise.
        setImmediate(() => {
          undecided.delete(this);
          if (!this.#isAwaited) {
            throw error;
          }
        });
      },
    );
  }

  /** The check, which is awaited from now on. */
  public async take(): Promise<Verdict> {
    this.#isAwaited = true;
    undecided.delete(this);
    return await this.found;
  }

  /** The methods of a promise, for an assertion. */
  public asPromise(): Omit<Promise<Verdict>, typeof Symbol.toStringTag> {
    return {
      then: async (...handlers) => await this.take().then(...handlers),
      catch: async (handler) => await this.take().catch(handler),
      finally: async (handler) => await this.take().finally(handler),
    };
  }
}

function failForUndecided(): void {
  for (const { matcher } of undecided) {
    process.exitCode = 1;
    process.stderr.write(
      `\nA test ended without awaiting .${matcher}(): write \`await expect(…)\`.\n`,
    );
  }
}

/** A matcher that the test has named. If it does not call it, the test fails. */
export class UncalledMatcher {
  public isCalled = false;

  public constructor(private readonly error: Error) {
    // Without the frames of Chai, which reads properties through a proxy.
    const [title = "", ...frames] = (error.stack ?? "").split("\n");
    const start = frames.findLastIndex((line) => line.includes("proxyGetter"));
    error.stack = [title, ...frames.slice(start + 1)].join("\n");
    // After the microtask of an `await`.
    queueMicrotask(() => {
      queueMicrotask(this.refuse);
    });
  }

  public readonly refuse = (): void => {
    if (!this.isCalled) {
      this.isCalled = true;
      throw this.error;
    }
  };
}

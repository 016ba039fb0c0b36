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

  /**
   * The words that follow on an assertion. One that Chai does not know throws at once, which
   * fails the test: nobody awaits the check then.
   */
  public throughWords(
    assertion: object,
    Assertion: abstract new (...args: never) => object,
  ): object {
    return new Proxy(assertion, {
      get: (target, name): unknown => {
        try {
          const word: unknown = Reflect.get(target, name);
          return word instanceof Assertion
            ? this.throughWords(word, Assertion)
            : word;
        } catch (error) {
          this.take().catch(() => undefined);
          throw error;
        }
      },
    });
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

  public constructor(
    private readonly error: Error,
    private readonly subject: unknown,
  ) {
    // Without the frames of Chai, which reads properties through a proxy.
    const [title = "", ...frames] = (error.stack ?? "").split("\n");
    const start = frames.findLastIndex((line) => line.includes("proxyGetter"));
    error.stack = [title, ...frames.slice(start + 1)].join("\n");
    // After the microtask of an `await`.
    queueMicrotask(() => {
      queueMicrotask(() => {
        if (!this.isCalled) {
          throw error;
        }
      });
    });
  }

  /** The `then` of an `await`: rejects once the subject's promise is settled. */
  public readonly reject = async (
    _: unknown,
    onRejected: (error: unknown) => unknown,
  ): Promise<void> => {
    this.isCalled = true;
    await Promise.allSettled([this.subject]);
    onRejected(this.error);
  };
}

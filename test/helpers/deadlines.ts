import { syncBuiltinESMExports } from "node:module";
import { mock } from "node:test";

/** How far the clock of the time limits is ahead. */
let ahead = 0;

// Before any test replaces it: what a test restores is then still ahead.
const now = performance.now.bind(performance);
performance.now = () => now() + ahead;

/**
 * Ends every time limit that there is by now, unless it is longer. Timers stay as they are, so
 * that a question under way gets its answer; and what has passed never comes back.
 */
export function endDeadlines(milliseconds = 3_600_000): void {
  ahead += milliseconds;
}

/** Milliseconds that pass with each turn of the event loop. */
const STEP_MS = 10;

/**
 * In each test of the suite, time passes by itself and quickly, so that what is
 * waited for takes none. For suites without real input and output, for which so
 * few turns of the event loop are too few.
 */
export function speedUpTime(): void {
  let turn: NodeJS.Immediate;
  let restoreClock: () => void;
  beforeEach(() => {
    let passed = now();
    mock.timers.enable({ apis: ["setTimeout"] });
    const clock = mock.method(performance, "now", () => passed + ahead);
    // As Node.js makes it, but by the timers of the test.
    const timeout = mock.method(AbortSignal, "timeout", (delay: number) => {
      const controller = new AbortController();
      setTimeout(() => {
        const message = "The operation was aborted due to timeout";
        controller.abort(new DOMException(message, "TimeoutError"));
      }, delay);
      return controller.signal;
    });
    restoreClock = () => {
      clock.mock.restore();
      timeout.mock.restore();
    };
    const takeTurn = (): void => {
      passed += STEP_MS;
      mock.timers.tick(STEP_MS);
      turn = setImmediate(takeTurn);
    };
    turn = setImmediate(takeTurn);
  });
  afterEach(() => {
    clearImmediate(turn);
    restoreClock();
    mock.timers.reset();
    // Else a later file of this worker may import the mocks from `node:timers/promises`,
    // and wait for ever.
    syncBuiltinESMExports();
  });
}

/** Wall clock of a suite's tests; each begins with it on time. */
export interface WallClock {
  /** Milliseconds that it is ahead. */
  ahead: number;
  /** Unix milliseconds at which it stands still; undefined if it goes on. */
  stoppedAt: number | undefined;
}

/** In each test of the suite, the wall clock can be set ahead, or stopped. */
export function useWallClock(): WallClock {
  const clock: WallClock = { ahead: 0, stoppedAt: undefined };
  let method: ReturnType<typeof mock.method>;
  beforeEach(() => {
    Object.assign(clock, { ahead: 0, stoppedAt: undefined });
    const today = Date.now.bind(Date);
    method = mock.method(
      Date,
      "now",
      () => clock.stoppedAt ?? today() + clock.ahead,
    );
  });
  // Not `mock.restoreAll()`, which brings the mocks of earlier files back.
  afterEach(() => {
    method.mock.restore();
  });
  return clock;
}

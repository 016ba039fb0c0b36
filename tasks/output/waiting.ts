import type {
  HookManager,
  NetworkHooks,
  UserInterruptionHooks,
} from "hardhat/types/hooks";

import { faultOf } from "../../src/rpc/errors.js";
import { withMembers } from "./destination.js";
import type { WriteText } from "./destination.js";
import { describeCount } from "./format-value.js";
import { redrawInPlace, writeOnce } from "./line-update.js";
import type { ProgressStream } from "./progress.js";
import { watchRateLimit } from "./rate-limit.js";
import { formatDuration } from "./time.js";

/** What takes longer says what it is doing. */
const PATIENCE_MS = 1_000;
const REDRAW_MS = 500;

/** Calls a function again and again, until the returned one is called. */
export type Ticker = (tick: () => void) => () => void;

const everyHalfSecond: Ticker = (tick) => {
  const timer = setInterval(tick, REDRAW_MS);
  return () => {
    clearInterval(timer);
  };
};

/** The line on which a task says that it waits. */
export interface Waiting {
  /** Writes in place of that line, which a bar may have for itself. */
  readonly stderr: ProgressStream;
  /** Writes to another stream of the same terminal in place of it. */
  readonly inPlace: (write: WriteText) => WriteText;
  /** Says nothing while somebody is asked, or slept; counts anew after it. */
  readonly pause: <T>(work: () => Promise<T>) => Promise<T>;
}

/** What is needed of Hardhat: to hear of requests, and of its own questions. */
type Hooks = Pick<HookManager, "registerHandlers" | "unregisterHandlers">;

/**
 * Shows on a terminal, while nothing else does, how long a task waits for its
 * node, how often it has asked it, and whether it may not ask more often; on one
 * that is dumb, once. Whatever else the task writes meanwhile goes through
 * what `work` is given; of what others write past it, as Solidity's
 * `console.log`, the next drawing may take a line away.
 */
export async function whileWaiting<T>(
  hooks: Hooks,
  stderr: ProgressStream,
  work: (waiting: Waiting) => Promise<T>,
  ticker: Ticker = everyHalfSecond,
  now: () => number = Date.now,
): Promise<T> {
  if (stderr.isTTY !== true) {
    return await work({
      stderr,
      inPlace: (write) => write,
      pause: async (inner) => await inner(),
    });
  }
  let [startedAt, asked, held] = [now(), 0, 0];
  const limit = watchRateLimit(now);
  const network: Partial<NetworkHooks> = {
    onRequest: async (context, connection, request, next) => {
      asked += 1;
      const response = await next(context, connection, request);
      if ("error" in response && faultOf(response.error)?.kind === "busy") {
        limit.note();
      }
      return response;
    },
  };
  const line =
    process.env["TERM"] === "dumb"
      ? writeOnce(stderr)
      : await redrawInPlace(stderr);
  const hold = (): void => {
    held += 1;
    line.clear();
  };
  const release = (): void => {
    held -= 1;
    [startedAt, asked] = [now(), 0];
  };
  const pause: Waiting["pause"] = async (inner) => {
    hold();
    try {
      return await inner();
    } finally {
      release();
    }
  };
  // Hardhat asks for what it cannot find, as the password of a keystore.
  const userInterruptions: Partial<UserInterruptionHooks> = {
    displayMessage: async (context, from, text, next) => {
      await pause(async () => {
        await next(context, from, text);
      });
    },
    requestInput: async (context, from, text, next) =>
      await pause(async () => await next(context, from, text)),
    requestSecretInput: async (context, from, text, next) =>
      await pause(async () => await next(context, from, text)),
  };
  const inPlace: Waiting["inPlace"] = (write) => (text, done) => {
    line.clear();
    return write(text, done);
  };
  const stop = ticker(() => {
    const waited = now() - startedAt;
    if (held === 0 && waited >= PATIENCE_MS && asked > 0) {
      const soFar = `asked the node ${describeCount(asked, "time")} so far, for ${formatDuration(BigInt(Math.floor(waited / 1_000)))}…`;
      line(
        limit.isReached
          ? `Waiting for the rate limit: ${soFar}`
          : `A${soFar.slice(1)}`,
      );
    }
  });
  hooks.registerHandlers("network", network);
  hooks.registerHandlers("userInterruptions", userInterruptions);
  try {
    return await work({
      stderr: withMembers(stderr, {
        bar: { hold, release },
        write: (...args: readonly unknown[]): boolean => {
          line.clear();
          // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
          return Boolean(Reflect.apply(stderr.write, stderr, args));
        },
      }),
      inPlace,
      pause,
    });
  } finally {
    hooks.unregisterHandlers("network", network);
    hooks.unregisterHandlers("userInterruptions", userInterruptions);
    limit.stop();
    stop();
    line.clear();
  }
}

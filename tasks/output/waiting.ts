import type {
  HookContext,
  HookManager,
  NetworkHooks,
  UserInterruptionHooks,
} from "hardhat/types/hooks";

import { faultOf } from "../../src/rpc/errors.js";
import { withMembers } from "./destination.js";
import type { OutputStream, WriteText } from "./destination.js";
import { describeCount, formatDuration } from "./format-value.js";
import { redrawInPlace } from "./line-update.js";
import { describeDone, renderBar } from "./progress.js";
import type { StartProgress } from "./progress.js";
import { watchRateLimit } from "./rate-limit.js";
import type { StyledStream } from "./style.js";

/** What takes longer says what it is doing. */
const PATIENCE_MS = 1_000;
const REDRAW_MS = 100;
/** How often a terminal that cannot go back in a line is told. */
const LINE_INTERVAL_MS = 2_000;

/** Calls a function again and again, until the returned one is called. */
export type Ticker = (tick: () => void) => () => void;

const everySooOften: Ticker = (tick) => {
  const timer = setInterval(tick, REDRAW_MS);
  return () => {
    clearInterval(timer);
  };
};

/** The line on which a task says that it waits, or how far it has come. */
export interface Waiting {
  /** Writes in place of that line. */
  readonly stderr: OutputStream;
  /** Writes to another stream of the same terminal in place of it. */
  readonly inPlace: (write: WriteText) => WriteText;
  /** Says nothing while somebody is asked, or slept; counts anew after it. */
  readonly pause: <T>(work: () => Promise<T>) => Promise<T>;
  readonly startProgress: StartProgress;
}

/** What is needed of Hardhat: to hear of requests, and of its own questions. */
type Hooks = Pick<HookManager, "registerHandlers" | "unregisterHandlers">;

/**
 * Shows on a terminal how far a task has come or, where nothing tells that, how
 * long it waits for its node, how often it has asked it, and whether it may not
 * ask more often; on one that is dumb, once. Whatever else the task writes
 * meanwhile goes through what `work` is given; of what others write past it, as
 * Solidity's `console.log`, the next drawing may take a line away.
 */
export async function whileWaiting<T>(
  hooks: Hooks,
  stderr: NodeJS.WritableStream & StyledStream,
  work: (waiting: Waiting) => Promise<T>,
  ticker: Ticker = everySooOften,
  now: () => number = Date.now,
): Promise<T> {
  if (stderr.isTTY !== true) {
    return await work({
      stderr,
      inPlace: (write) => write,
      pause: async (inner) => await inner(),
      startProgress: () => ({ update: () => undefined, hide: () => undefined }),
    });
  }
  let [startedAt, asked, held] = [now(), 0, 0];
  /** What is shown while there is progress, and nothing is written. */
  let bar: ((isLimited: boolean) => string) | undefined;
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
  const isDumb = process.env["TERM"] === "dumb";
  const redraw = isDumb ? undefined : await redrawInPlace(stderr);
  let isShown = false;
  const show = (line: string): void => {
    if (redraw !== undefined) {
      redraw(line);
    } else if (!isShown) {
      stderr.write(`${line}\n`);
    }
    isShown = true;
  };
  const clear = (): void => {
    if (bar !== undefined) {
      bar = undefined;
      [startedAt, asked] = [now(), 0];
    }
    // What is written often beside it need not move the cursor as often.
    if (isShown && redraw !== undefined) {
      isShown = false;
      redraw.clear();
    }
  };
  const pause: Waiting["pause"] = async (inner) => {
    clear();
    held += 1;
    try {
      return await inner();
    } finally {
      held -= 1;
      [startedAt, asked] = [now(), 0];
    }
  };
  const pauseFor = async <Answer>(
    context: HookContext,
    from: string,
    text: string,
    next: (context: HookContext, from: string, text: string) => Promise<Answer>,
  ): Promise<Answer> =>
    await pause(async () => await next(context, from, text));
  // Hardhat asks for what it cannot find, as the password of a keystore.
  const userInterruptions: Partial<UserInterruptionHooks> = {
    displayMessage: pauseFor,
    requestInput: pauseFor,
    requestSecretInput: pauseFor,
  };
  const inPlace: Waiting["inPlace"] = (write) => (text, done) => {
    clear();
    return write(text, done);
  };
  const startProgress: StartProgress = ({ total: expected, unit }) => {
    const begunAt = now();
    let toldAt = begunAt;
    return {
      update({ done, total = expected }) {
        if (isDumb) {
          if (now() - toldAt >= LINE_INTERVAL_MS) {
            toldAt = now();
            stderr.write(`${describeDone(done, total, unit)}\n`);
          }
          return;
        }
        const elapsed = now() - begunAt;
        const isBarShown = bar !== undefined;
        bar = (isLimited) =>
          renderBar(done, total, unit, {
            elapsed,
            isLimited,
            columns: stderr.columns,
          });
        if (!isBarShown) {
          draw();
        }
      },
      hide: clear,
    };
  };
  const draw = (): void => {
    const waited = now() - startedAt;
    if (held > 0) {
      return;
    }
    if (bar !== undefined) {
      show(bar(limit.isReached));
    } else if (waited >= PATIENCE_MS && asked > 0) {
      const soFar = `asked the node ${describeCount(asked, "time")} so far, for ${formatDuration(BigInt(Math.floor(waited / 1_000)))}…`;
      show(
        limit.isReached
          ? `Waiting for the rate limit: ${soFar}`
          : `A${soFar.slice(1)}`,
      );
    }
  };
  const stop = ticker(draw);
  hooks.registerHandlers("network", network);
  hooks.registerHandlers("userInterruptions", userInterruptions);
  try {
    return await work({
      stderr: withMembers(stderr, {
        write: (...args: readonly unknown[]): boolean => {
          clear();
          // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
          return Boolean(Reflect.apply(stderr.write, stderr, args));
        },
      }),
      inPlace,
      pause,
      startProgress,
    });
  } finally {
    hooks.unregisterHandlers("network", network);
    hooks.unregisterHandlers("userInterruptions", userInterruptions);
    limit.stop();
    stop();
    clear();
  }
}

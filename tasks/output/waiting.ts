import type { HookManager, NetworkHooks } from "hardhat/types/hooks";

import { faultOf } from "../../src/rpc/request.js";
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

/**
 * Shows on a terminal, while nothing else does, how long a task waits for its
 * node, how often it has asked it, and whether it may not ask more often; on one
 * that is dumb, once. For tasks without a progress of their own.
 */
export async function whileWaiting<T>(
  hooks: Pick<HookManager, "registerHandlers" | "unregisterHandlers">,
  stderr: ProgressStream,
  work: () => Promise<T>,
  ticker: Ticker = everyHalfSecond,
  now: () => number = Date.now,
): Promise<T> {
  if (stderr.isTTY !== true) {
    return await work();
  }
  const startedAt = now();
  let asked = 0;
  const limit = watchRateLimit(now);
  const handlers: Partial<NetworkHooks> = {
    onRequest: async (context, connection, request, next) => {
      asked += 1;
      const response = await next(context, connection, request);
      if ("error" in response && faultOf(response.error)?.kind === "busy") {
        limit.note();
      }
      return response;
    },
  };
  const update =
    process.env["TERM"] === "dumb"
      ? writeOnce(stderr)
      : await redrawInPlace(stderr);
  const stop = ticker(() => {
    const waited = now() - startedAt;
    if (waited >= PATIENCE_MS && asked > 0) {
      const soFar = `asked the node ${describeCount(asked, "time")} so far, for ${formatDuration(BigInt(Math.floor(waited / 1_000)))}…`;
      update(
        limit.isReached
          ? `Waiting for the rate limit: ${soFar}`
          : `A${soFar.slice(1)}`,
      );
    }
  });
  hooks.registerHandlers("network", handlers);
  try {
    return await work();
  } finally {
    hooks.unregisterHandlers("network", handlers);
    limit.stop();
    stop();
    update.clear();
  }
}

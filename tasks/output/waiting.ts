import type { HookManager, NetworkHooks } from "hardhat/types/hooks";

import { describeCount } from "./format-value.js";
import type { ProgressStream } from "./progress.js";
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
 * node and how often it has asked it. For tasks without a progress of their own.
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
  const handlers: Partial<NetworkHooks> = {
    onRequest: async (context, connection, request, next) => {
      asked += 1;
      return await next(context, connection, request);
    },
  };
  // Most runs have no terminal, and need not load it.
  const { createLogUpdate } = await import("log-update");
  // The cursor stays: Ctrl-C would leave the terminal without one.
  const update = createLogUpdate(stderr, { showCursor: true });
  const stop = ticker(() => {
    const waited = now() - startedAt;
    if (waited >= PATIENCE_MS && asked > 0) {
      update(
        `Asked the node ${describeCount(asked, "time")} so far, for ${formatDuration(BigInt(Math.floor(waited / 1_000)))}…`,
      );
    }
  });
  hooks.registerHandlers("network", handlers);
  try {
    return await work();
  } finally {
    hooks.unregisterHandlers("network", handlers);
    stop();
    update.clear();
  }
}

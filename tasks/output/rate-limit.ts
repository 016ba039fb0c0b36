import { subscribe, unsubscribe } from "node:diagnostics_channel";

import { TOO_MANY_REQUESTS } from "../../src/rpc/errors.js";

/**
 * The channel of undici, by which Hardhat asks its nodes, for each answer's
 * headers. Hardhat waits and asks again by itself where a node limits how often
 * it is asked, for up to half a minute, and tells nobody else.
 */
const HEADERS = "undici:request:headers";

/** Milliseconds; Hardhat waits for five seconds at most, a read for ten. */
const LONGEST_WAIT_MS = 10_000;

/** Whether a node limits how often it is asked. */
export interface RateLimit {
  /** A node said so a moment ago. */
  readonly isReached: boolean;
  /** It said so by other means than HTTP's. */
  note(): void;
  stop(): void;
}

/** Looks at what this process is answered over HTTP, until it is stopped. */
export function watchRateLimit(now: () => number): RateLimit {
  let saidAt = -Infinity;
  const note = (): void => {
    saidAt = now();
  };
  const look = (message: unknown): void => {
    const response: unknown = Reflect.get(Object(message), "response");
    if (Reflect.get(Object(response), "statusCode") === TOO_MANY_REQUESTS) {
      note();
    }
  };
  subscribe(HEADERS, look);
  return {
    get isReached() {
      return now() - saidAt < LONGEST_WAIT_MS;
    },
    note,
    stop: () => {
      unsubscribe(HEADERS, look);
    },
  };
}

/** A request that is sent again. */
export interface RetryEvent {
  readonly method: string;
  /**
   * `busy`: the node limits how often it is asked; `passing`: any other failure
   * that may be over, as of a node that lacks a block that another one has.
   */
  readonly reason: "busy" | "passing";
  /** The failure, safe to show. */
  readonly problem: string;
  /** The number of times that it was sent by now. */
  readonly attempt: number;
}

/** The most attempts, by the kind of failure; others are final. */
export type RetryPolicy = Readonly<Record<RetryEvent["reason"], number>>;

export const usualRetries: RetryPolicy = { busy: 15, passing: 6 };
/**
 * For a request that is heavy, or made in another way if it fails: the reason may
 * be its size.
 */
export const fewRetries: RetryPolicy = { busy: 15, passing: 3 };
/** For a caller with a loop of its own. */
export const noRetries: RetryPolicy = { busy: 1, passing: 1 };

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** A node may ask for more, which would look like a hang. */
const LONGEST_RETRY_AFTER_MS = 10_000;

/** Milliseconds to wait after the n-th attempt, from 1. */
export function waitAfter(attempt: number, retryAfterMs = 0): number {
  const backoff = FIRST_WAIT_MS * 2 ** (attempt - 1) * (1 + Math.random());
  return (
    Math.min(backoff, LONGEST_WAIT_MS) +
    Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)
  );
}

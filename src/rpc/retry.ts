import type { FailureReason } from "./errors.js";

/** A request that is about to be repeated. */
export interface RetryEvent {
  readonly method: string;
  /**
   * `rateLimited`: the node limits the rate of requests. `transient`: any other temporary
   * failure, such as a node that lacks a block that another one has. `pending`: it did
   * not fail, but a transaction is not mined yet.
   */
  readonly reason: FailureReason | "pending";
  /** The failure, safe to show. */
  readonly problem: string;
  /** Number of attempts so far. */
  readonly attempt: number;
}

// Transient failures with which a request ends.
export const usualRetries = 6;
/** For a large request, or one with a fallback: its size may be the reason. */
export const fewRetries = 3;
/** For a caller with its own loop. */
export const noRetries = 1;

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** A node may request more, but the task would seem to hang. */
const LONGEST_RETRY_AFTER_MS = 10_000;

/** Milliseconds to wait after an attempt; the first is 1. */
export function waitAfter(attempt: number, retryAfterMs = 0): number {
  const backoff = FIRST_WAIT_MS * 2 ** (attempt - 1) * (1 + Math.random());
  return (
    Math.min(backoff, LONGEST_WAIT_MS) +
    Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)
  );
}

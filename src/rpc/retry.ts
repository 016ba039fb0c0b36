import type { AttemptCount, Failure, FailureReason } from "./errors.js";

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

/** Number of failures of a kind with which a request ends. Other kinds end it at once. */
export type RetryPolicy = Readonly<Record<FailureReason, number>>;

export const usualRetries: RetryPolicy = { rateLimited: 15, transient: 6 };
/** For a large request, or one with a fallback: its size may be the reason. */
export const fewRetries: RetryPolicy = { rateLimited: 15, transient: 3 };
/** For a caller with its own loop. */
export const noRetries: RetryPolicy = { rateLimited: 1, transient: 1 };

/** The failed attempts of one request. */
export class Attempts {
  // Counted apart: a node that limited the rate for long may still fail in passing.
  readonly #failures = { rateLimited: 0, transient: 0 };
  readonly #begunAt = performance.now();
  #failed: Failure | undefined;

  /** Times that the request was sent. */
  public count = 0;

  constructor(private readonly policy: RetryPolicy) {}

  /** What the newest attempt ended with; undefined before the first. */
  public get failed(): Failure | undefined {
    return this.#failed;
  }

  /** Counts a failure. @returns True if the policy allows another attempt. */
  public mayRetryAfter(
    failure: Failure,
  ): failure is Failure & { readonly retry: FailureReason } {
    const { retry } = failure;
    this.#failed = failure;
    if (retry === undefined) {
      return false;
    }
    this.#failures[retry] += 1;
    return this.#failures[retry] < this.policy[retry];
  }

  /** For the error of a request that was retried. */
  public details(): AttemptCount | undefined {
    const seconds = Math.round((performance.now() - this.#begunAt) / 1_000);
    return this.count > 1 ? { attempts: this.count, seconds } : undefined;
  }
}

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

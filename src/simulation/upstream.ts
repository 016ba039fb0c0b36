import { setTimeout as sleep } from "node:timers/promises";

import {
  getDispatcher,
  postJsonRequest,
} from "@nomicfoundation/hardhat-utils/request";
import pLimit from "p-limit";

import { asRecord, listOf } from "../json.js";
import type { Redactor } from "../redact.js";
import { classifyFailure } from "../rpc/errors.js";
import { FailedAttempts, fewRetries, waitAfter } from "../rpc/retry.js";
import type { RetryPolicy } from "../rpc/retry.js";

export interface UpstreamCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Answer of a node to one call, not checked. */
export type UpstreamAnswer =
  | { readonly result: unknown }
  | { readonly error: unknown };

export const NO_ANSWER: UpstreamAnswer = { error: undefined };

/** Transport of a network, as its settings describe it. */
export interface UpstreamSettings {
  /** Name of the network in error texts. */
  readonly network: string;
  /** Knows the secrets that the node may repeat. */
  readonly redactor: Redactor;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one HTTP request. */
  readonly timeout: number;
}

/**
 * `optional`: a fork works without the answer. Such calls never take the place of needed
 * ones, and end when the node limits their rate.
 */
export type Urgency = "needed" | "optional";

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

/** Calls in one batch. A node that refuses gets the next size; 1 means no batches. */
const BATCH_SIZES = [1_000, 100, 10, 1];

/** HTTP requests of each urgency at the same time, as many as other reads make. */
const MAX_CONCURRENCY = 16;

/** A batch has a fallback: smaller ones, or none. */
const batchRetries: RetryPolicy = { rateLimited: 2, transient: 3 };

/** HTTP status of a wrong key: a smaller batch would not help. */
const UNAUTHORIZED = [401, 403];

/** JSON-RPC error codes of an unknown method and of wrong parameters. */
const FINAL_CODES: readonly unknown[] = [-32_601, -32_602];

const batchRefusal = /batch|too (?:large|many)/iu;

/** The node behind a fork. Sends calls in batches where the node takes them. */
export class Upstream {
  readonly #slots = {
    needed: pLimit(MAX_CONCURRENCY),
    optional: pLimit(MAX_CONCURRENCY),
  };
  readonly #dispatcher: ReturnType<typeof getDispatcher>;
  #batchSize = Math.max(...BATCH_SIZES);
  /** The largest batch that the node answered. */
  #largestAnswered = 1;
  /** True once retries did not help against a limit of the rate. */
  #isLimited = false;
  #isClosed = false;

  constructor(private readonly settings: UpstreamSettings) {
    const { url, timeout } = settings;
    this.#dispatcher = getDispatcher(url, { pool: true, timeout });
    // Each request meets the failure.
    this.#dispatcher.catch(() => undefined);
  }

  /**
   * Asks all, in as few requests as the node allows.
   *
   * @returns The answers in the order of the calls, and whether one request brought all.
   */
  public async ask(
    calls: readonly UpstreamCall[],
    urgency: Urgency = "needed",
  ): Promise<{ answers: readonly UpstreamAnswer[]; isOneRequest: boolean }> {
    if (urgency === "optional" && this.#isLimited) {
      return { answers: calls.map(() => NO_ANSWER), isOneRequest: false };
    }
    const size = this.#batchSize;
    if (calls.length <= size) {
      return await this.#askPart(calls, urgency);
    }
    // The first shows whether the node takes batches of this size.
    const ahead = size > this.#largestAnswered ? size : 0;
    const first = await this.#askPart(calls.slice(0, ahead), urgency);
    const rest = calls.slice(ahead);
    const step = this.#batchSize;
    const asked = await Promise.all(
      Array.from(
        { length: Math.ceil(rest.length / step) },
        async (_, index) =>
          await this.#askPart(
            rest.slice(index * step, (index + 1) * step),
            urgency,
          ),
      ),
    );
    const answers = [first, ...asked].flatMap((part) => part.answers);
    return { answers, isOneRequest: false };
  }

  /** Ends all requests. */
  public async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#dispatcher).destroy();
  }

  /** @returns The response, not checked. */
  async #send(
    body: unknown,
    urgency: Urgency,
    failures: FailedAttempts,
  ): Promise<unknown> {
    for (;;) {
      try {
        return await this.#slots[urgency](async () => await this.#post(body));
      } catch (error) {
        await this.#waitBeforeRetry(error, failures);
      }
    }
  }

  async #post(body: unknown): Promise<unknown> {
    if (this.#isClosed) {
      // Only a warming that goes on asks.
      throw new Error("the fork is closed");
    }
    const { url, headers: extraHeaders, timeout } = this.settings;
    const options = {
      extraHeaders,
      // Undici's own limit begins again with each piece of an answer. 0 is no limit.
      ...(timeout > 0 && { abortSignal: AbortSignal.timeout(timeout) }),
    };
    const dispatcher = await this.#dispatcher;
    const response = await postJsonRequest(url, body, options, dispatcher);
    const parsed: unknown = JSON.parse(await response.body.text());
    return parsed;
  }

  /** @throws The error if a retry would fail, too. */
  async #waitBeforeRetry(
    error: unknown,
    failures: FailedAttempts,
  ): Promise<void> {
    const failure = classifyFailure(error);
    const { kind } = failure;
    const isTemporary = kind === "rateLimited" || kind === "transient";
    if (!isTemporary || !failures.mayRetryAfter(kind) || this.#isClosed) {
      this.#isLimited ||= kind === "rateLimited";
      throw error;
    }
    await sleep(waitAfter(failures.count, failure.retryAfterMs));
  }

  async #askPart(
    calls: readonly UpstreamCall[],
    urgency: Urgency,
  ): ReturnType<Upstream["ask"]> {
    if (calls.length <= 1) {
      const answers = calls.map(
        async (call) => await this.#askOne(call, urgency),
      );
      return { answers: await Promise.all(answers), isOneRequest: true };
    }
    const found = await this.#askBatch(calls, urgency);
    const isRepaired = await this.#repair(calls, found, urgency);
    const missing = calls.filter((_, index) => !found.has(index));
    const isWhole = missing.length === 0;
    if (isWhole) {
      this.#largestAnswered = Math.max(this.#largestAnswered, calls.length);
    } else {
      const smaller = BATCH_SIZES.find((size) => size < calls.length) ?? 1;
      // Smaller batches would be as many calls a second against a limit of the rate.
      const next = this.#isLimited ? 1 : smaller;
      this.#batchSize = Math.min(this.#batchSize, next);
    }
    const others = (await this.ask(missing, urgency)).answers.values();
    const answers = calls.map(
      (_, index) => found.get(index) ?? others.next().value ?? NO_ANSWER,
    );
    return { answers, isOneRequest: isWhole && !isRepaired };
  }

  /**
   * Retries, each alone, the calls that a batch answered with an error, unless the first of
   * them fails that way, too.
   *
   * @returns True if a call was retried.
   */
  async #repair(
    calls: readonly UpstreamCall[],
    found: Map<number, UpstreamAnswer>,
    urgency: Urgency,
  ): Promise<boolean> {
    const [first, ...others] = [...calls.entries()].filter(([place]) =>
      mayPassAlone(found.get(place)),
    );
    const again = async ([place, call]: readonly [number, UpstreamCall]) => {
      const answer = await this.#askOne(call, urgency);
      found.set(place, answer);
      return answer;
    };
    if (first === undefined) {
      return false;
    }
    if (!mayPassAlone(await again(first))) {
      await Promise.all(others.map(again));
    }
    return true;
  }

  async #askOne(call: UpstreamCall, urgency: Urgency): Promise<UpstreamAnswer> {
    const failures = new FailedAttempts(
      urgency === "needed" ? fewRetries : batchRetries,
    );
    for (;;) {
      const body = { jsonrpc: "2.0", id: 1, ...call };
      const response = await this.#send(body, urgency, failures);
      const answer = answerOf(asRecord(response));
      if (!("error" in answer)) {
        return answer;
      }
      try {
        await this.#waitBeforeRetry(answer.error, failures);
      } catch {
        return answer;
      }
    }
  }

  /** @returns The answers that came, by place; none if the node refuses the batch. */
  async #askBatch(
    calls: readonly UpstreamCall[],
    urgency: Urgency,
  ): Promise<Map<number, UpstreamAnswer>> {
    const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    let response: unknown;
    try {
      const failures = new FailedAttempts(batchRetries);
      response = await this.#send(body, urgency, failures);
    } catch (error) {
      if (mayTakeSmaller(error)) {
        return new Map();
      }
      throw error;
    }
    const found = new Map<number, UpstreamAnswer>();
    for (const item of listOf(response)) {
      const fields = asRecord(item);
      // The order of a batch's answers is the node's choice.
      const place = Number(fields["id"] ?? Number.NaN);
      const answer = answerOf(fields);
      if (!isRefusedInBatch(answer)) {
        found.set(place, answer);
      } else if (classifyFailure(answer.error).kind === "rateLimited") {
        this.#isLimited = true;
      }
    }
    return found;
  }
}

/**
 * True for an HTTP status by which servers refuse a batch, or its size, and for an answer
 * that is cut off or no JSON.
 */
function mayTakeSmaller(error: unknown): boolean {
  const { statusCode } = asRecord(error);
  return typeof statusCode === "number"
    ? !UNAUTHORIZED.includes(statusCode)
    : classifyFailure(error).kind === "transient";
}

function answerOf({
  error,
  result = null,
}: Readonly<Record<string, unknown>>): UpstreamAnswer {
  // Some nodes leave out a result that is null.
  return error === undefined || error === null ? { result } : { error };
}

/** True for an error that is neither of the contract nor of the method. */
function mayPassAlone(answer: UpstreamAnswer | undefined): boolean {
  return (
    answer !== undefined &&
    "error" in answer &&
    classifyFailure(answer.error).kind !== "reverted" &&
    !refusesCall(answer)
  );
}

/** True if the node has no such method, or not with such parameters. */
export function refusesCall(answer: UpstreamAnswer): boolean {
  return (
    "error" in answer && FINAL_CODES.includes(asRecord(answer.error)["code"])
  );
}

/** True if a smaller batch may succeed. */
function isRefusedInBatch(
  answer: UpstreamAnswer,
): answer is { readonly error: unknown } {
  if (!("error" in answer)) {
    return false;
  }
  const { kind } = classifyFailure(answer.error);
  const { message } = asRecord(answer.error);
  return (
    kind === "rateLimited" ||
    kind === "transient" ||
    (typeof message === "string" && batchRefusal.test(message))
  );
}

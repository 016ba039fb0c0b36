import { setTimeout as sleep } from "node:timers/promises";

import {
  getDispatcher,
  postJsonRequest,
} from "@nomicfoundation/hardhat-utils/request";
import type { Dispatcher } from "@nomicfoundation/hardhat-utils/request";
import pLimit from "p-limit";

import { asRecord, listOf } from "../json.js";
import { classifyFailure } from "../rpc/errors.js";
import { fewRetries, waitAfter } from "../rpc/retry.js";

export interface UpstreamCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Answer of a node to one call, not checked. */
export type UpstreamAnswer =
  | { readonly result: unknown }
  | { readonly error: unknown };

/** Transport of a network, as its settings describe it. */
export interface UpstreamSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one HTTP request. */
  readonly timeout: number;
}

/** Calls in one batch. A node that refuses gets the next size; 1 means no batches. */
const BATCH_SIZES = [1_000, 100, 10, 1];

/** HTTP requests at the same time, as many as other reads make. */
const MAX_CONCURRENCY = 16;

/** HTTP status of a wrong key: a smaller batch would not help. */
const UNAUTHORIZED = [401, 403];

/** JSON-RPC error codes of an unknown method and of wrong parameters. */
const FINAL_CODES: readonly unknown[] = [-32_601, -32_602];

const batchRefusal = /batch|too (?:large|many)/iu;

/** The node behind a fork. Sends calls in batches where the node takes them. */
export class Upstream {
  readonly #slots = pLimit(MAX_CONCURRENCY);
  #batchSize = Math.max(...BATCH_SIZES);
  #isClosed = false;

  private constructor(
    private readonly settings: UpstreamSettings,
    private readonly dispatcher: Dispatcher,
  ) {}

  public static async open(settings: UpstreamSettings): Promise<Upstream> {
    const { url, timeout } = settings;
    return new Upstream(
      settings,
      await getDispatcher(url, { pool: true, timeout }),
    );
  }

  /**
   * Asks all, in as few requests as the node allows.
   *
   * @returns The answers in the order of the calls, and whether one request brought all.
   */
  public async ask(
    calls: readonly UpstreamCall[],
  ): Promise<{ answers: readonly UpstreamAnswer[]; isOneRequest: boolean }> {
    const size = this.#batchSize;
    const parts = Array.from(
      { length: Math.ceil(calls.length / size) },
      (_, index) => calls.slice(index * size, (index + 1) * size),
    );
    const asked = await Promise.all(
      parts.map(async (part) => await this.#askPart(part)),
    );
    return {
      answers: asked.flatMap(({ answers }) => answers),
      isOneRequest: asked.length === 1 && asked[0]?.isOneRequest === true,
    };
  }

  /** Sends a request as it is. @returns The response, not checked. */
  public async send(body: unknown): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#slots(async () => {
          const { url, headers: extraHeaders } = this.settings;
          const options = { extraHeaders };
          const response = await postJsonRequest(
            url,
            body,
            options,
            this.dispatcher,
          );
          return parseJson(await response.body.text());
        });
      } catch (error) {
        await this.#waitBeforeRetry(error, attempt);
      }
    }
  }

  /** Ends all requests. */
  public async close(): Promise<void> {
    this.#isClosed = true;
    await this.dispatcher.destroy();
  }

  /** @throws The error if a retry would fail, too. */
  async #waitBeforeRetry(error: unknown, attempt: number): Promise<void> {
    const failure = classifyFailure(error);
    const { kind } = failure;
    const isTemporary = kind === "busy" || kind === "transient";
    if (!isTemporary || attempt >= fewRetries[kind] || this.#isClosed) {
      throw error;
    }
    await sleep(waitAfter(attempt, failure.retryAfterMs));
  }

  async #askPart(calls: readonly UpstreamCall[]): ReturnType<Upstream["ask"]> {
    const [only, ...more] = calls;
    if (only === undefined || more.length === 0) {
      const answers = only === undefined ? [] : [await this.#askOne(only)];
      return { answers, isOneRequest: true };
    }
    const found = new Map(await this.#askBatch(calls));
    const isOneRequest = !(await this.#repair(calls, found));
    const missing = calls.filter((_, index) => !found.has(index));
    if (missing.length === 0) {
      return {
        answers: [...found]
          .sort(([a], [b]) => a - b)
          .map(([, answer]) => answer),
        isOneRequest,
      };
    }
    this.#batchSize = Math.min(
      this.#batchSize,
      BATCH_SIZES.find((size) => size < calls.length) ?? 1,
    );
    const others = (await this.ask(missing)).answers.values();
    const answers = calls.map(
      (_, index) =>
        found.get(index) ?? others.next().value ?? { error: undefined },
    );
    return { answers, isOneRequest: false };
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
  ): Promise<boolean> {
    const failed = [...found].filter(([, answer]) => mayPassAlone(answer));
    const again = async ([place]: readonly [number, unknown]) => {
      const call = calls[place];
      if (call !== undefined) {
        found.set(place, await this.#askOne(call));
      }
    };
    const [first, ...others] = failed;
    if (first === undefined) {
      return false;
    }
    await again(first);
    if (!mayPassAlone(found.get(first[0]))) {
      await Promise.all(others.map(again));
    }
    return true;
  }

  async #askOne(call: UpstreamCall): Promise<UpstreamAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.send({ jsonrpc: "2.0", id: 1, ...call });
      const answer = answerOf(asRecord(response));
      if (!("error" in answer)) {
        return answer;
      }
      try {
        await this.#waitBeforeRetry(answer.error, attempt);
      } catch {
        return answer;
      }
    }
  }

  /** @returns The answers that came, by place; none if the node refuses the batch. */
  async #askBatch(
    calls: readonly UpstreamCall[],
  ): Promise<ReadonlyMap<number, UpstreamAnswer>> {
    const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    let response: unknown;
    try {
      response = await this.send(body);
    } catch (error) {
      if (isRefusedByStatus(error)) {
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
      if (place in calls && !isRefusedInBatch(answer)) {
        found.set(place, answer);
      }
    }
    return found;
  }
}

function parseJson(text: string): unknown {
  return JSON.parse(text);
}

/** True for an HTTP status by which servers refuse a batch, or its size. */
function isRefusedByStatus(error: unknown): boolean {
  const { statusCode } = asRecord(error);
  return typeof statusCode === "number" && !UNAUTHORIZED.includes(statusCode);
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
    !FINAL_CODES.includes(asRecord(answer.error)["code"])
  );
}

/** True if a smaller batch may succeed. */
function isRefusedInBatch(answer: UpstreamAnswer): boolean {
  if (!("error" in answer)) {
    return false;
  }
  const { kind } = classifyFailure(answer.error);
  const { message } = asRecord(answer.error);
  return (
    kind === "busy" ||
    kind === "transient" ||
    (typeof message === "string" && batchRefusal.test(message))
  );
}

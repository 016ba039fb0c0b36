import { VaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import type { Redactor } from "../redact.js";
import { classifyFailure, isNodeRefusal } from "../rpc/errors.js";
import { HttpTransport } from "../rpc/http-transport.js";
import type { HttpSettings } from "../rpc/http-transport.js";
import { fewRetries } from "../rpc/retry.js";
import type { RetryPolicy } from "../rpc/retry.js";
import { BATCH, KnownNode, RpcClient } from "../rpc/rpc-client.js";

export interface UpstreamCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Answer of a node to one call, not checked. */
export type UpstreamAnswer =
  | { readonly result: unknown }
  | { readonly error: unknown };

export const NO_ANSWER: UpstreamAnswer = { error: undefined };

export interface UpstreamSettings extends HttpSettings {
  /** Name of the network in error texts. */
  readonly network: string;
  /** Knows the secrets that the node may repeat. */
  readonly redactor: Redactor;
}

/** `optional`: a fork works without the answer, and asks no more once its rate is limited. */
export type Urgency = "needed" | "optional";

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

/** Calls in one batch. A node that refuses gets the next size; 1 means no batches. */
const BATCH_SIZES = [1_000, 100, 10, 1];

/** A batch has a fallback: smaller ones, or none. */
const batchRetries: RetryPolicy = { rateLimited: 2, transient: 3 };

/** HTTP status of a wrong key: a smaller batch would not help. */
const UNAUTHORIZED = [401, 403];

/** JSON-RPC error codes of an unknown method and of wrong parameters. */
const FINAL_CODES: readonly unknown[] = [-32_601, -32_602];

const batchRefusal = /batch|too (?:large|many)/iu;

/** Batches of the JSON-RPC client, for the node behind a fork. */
export class Upstream {
  readonly #transport: HttpTransport;
  readonly #client: RpcClient;
  #batchSize = Math.max(...BATCH_SIZES);
  /** True once retries did not help against a limit of the rate. */
  #isLimited = false;

  constructor(settings: UpstreamSettings) {
    const { network, redactor } = settings;
    this.#transport = new HttpTransport(settings);
    const node = new KnownNode(redactor);
    this.#client = new RpcClient(this.#transport, network, node);
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
    const found = new Map<UpstreamCall, UpstreamAnswer>();
    const missing = (): UpstreamCall[] =>
      calls.filter((call) => !found.has(call));
    const asksNoMore = (): boolean => urgency === "optional" && this.#isLimited;
    let requests = 0;
    while (calls.length > 1 && this.#batchSize > 1 && !asksNoMore()) {
      const [first = [], ...others] = partsOf(missing(), this.#batchSize);
      requests += 1 + others.length;
      // It shows whether the node takes batches of this size.
      if (await this.#askBatch(first, found)) {
        await Promise.all(
          others.map(async (part) => await this.#askBatch(part, found)),
        );
        break;
      }
      this.#batchSize = this.#isLimited
        ? 1
        : (BATCH_SIZES.find((size) => size < first.length) ?? 1);
    }
    const alone = async (call: UpstreamCall): Promise<UpstreamAnswer> => {
      const answer = asksNoMore() ? NO_ANSWER : await this.#askOne(call);
      found.set(call, answer);
      return answer;
    };
    const [failed, ...more] = calls.filter((call) =>
      mayPassAlone(found.get(call)),
    );
    const again = missing();
    if (failed !== undefined && "result" in (await alone(failed))) {
      again.push(...more);
    }
    requests += again.length + (failed === undefined ? 0 : 1);
    await Promise.all(again.map(alone));
    return {
      answers: calls.map((call) => found.get(call) ?? NO_ANSWER),
      isOneRequest: requests <= 1,
    };
  }

  /** Ends all requests. */
  public async close(): Promise<void> {
    await this.#transport.close();
  }

  async #askOne({ method, params }: UpstreamCall): Promise<UpstreamAnswer> {
    try {
      const client = this.#client.withRetries(fewRetries);
      return { result: await client.request(method, params) };
    } catch (error) {
      if (!isNodeRefusal(error)) {
        throw error;
      }
      const { rpcCode: code, problem: message } = error.details;
      return { error: { code, message } };
    }
  }

  /** @returns False if the node answers none of the calls in a batch. */
  async #askBatch(
    calls: readonly UpstreamCall[],
    found: Map<UpstreamCall, UpstreamAnswer>,
  ): Promise<boolean> {
    let response: unknown;
    try {
      const client = this.#client.withRetries(batchRetries);
      response = await client.request(BATCH, calls);
    } catch (error) {
      const { httpStatus } = VaultError.isVaultError(error)
        ? error.details
        : {};
      this.#isLimited ||= httpStatus === 429;
      if (!mayTakeSmaller(error, httpStatus)) {
        throw error;
      }
      return false;
    }
    let isAnswered = false;
    for (const item of listOf(response)) {
      const { id, error = null, result = null } = asRecord(item);
      // The order of a batch's answers is the node's choice.
      const call = calls[Number(id ?? Number.NaN)];
      const kind = error === null ? undefined : classifyFailure(error).kind;
      this.#isLimited ||= kind === "rateLimited";
      if (call !== undefined && !isRefusedInBatch(error, kind)) {
        isAnswered = true;
        // Some nodes leave out a result that is null.
        found.set(call, error === null ? { result } : { error });
      }
    }
    return isAnswered;
  }
}

function partsOf<T>(
  all: readonly T[],
  size: number,
): ReadonlyArray<readonly T[]> {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}

/** True for what servers answer to a batch, or to its size. */
function mayTakeSmaller(error: unknown, status: unknown): boolean {
  if (typeof status === "number") {
    return !UNAUTHORIZED.includes(status);
  }
  const { code, cause } = asRecord(error);
  return (
    code === "VAULT_RPC_ERROR" ||
    code === "VAULT_RPC_INVALID_RESPONSE" ||
    (code === "VAULT_NETWORK_UNREACHABLE" &&
      classifyFailure(cause).kind === "transient")
  );
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

/** True if the call may succeed in a smaller batch. */
function isRefusedInBatch(error: unknown, kind: string | undefined): boolean {
  const { message } = asRecord(error);
  return (
    kind === "rateLimited" ||
    kind === "transient" ||
    (typeof message === "string" && batchRefusal.test(message))
  );
}

import pLimit from "p-limit";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { Address } from "../protocol/index.js";
import { Redactor } from "../redact.js";
import type { Eip1193Provider } from "./eip1193.js";
import { classify, isEmptyAnswer, toError } from "./errors.js";
import type { Failure, FailureReason, Source } from "./errors.js";
import { BLOCK_METHOD, KnownBlocks, blockNotFound } from "./block-id.js";
import { ResponseParser } from "./response-parser.js";
import { noRetries, usualRetries, waitAfter } from "./retry.js";
import type { RetryEvent } from "./retry.js";
import type { RevertReason } from "./revert-reason.js";
import { firstAborted, isAbortOf, orAbort, pause } from "./signals.js";

export interface Answered {
  readonly result: unknown;
}

export interface Reverted {
  readonly reverted: RevertReason;
}

/** Options of a group of requests, such as those of one read. */
export interface RequestOptions {
  /** Milliseconds for the whole group, retries included. */
  readonly timeout?: number | undefined;
  /** Ends the wait for the requests, which then throw its reason. A transaction is still sent. */
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
}

/** Deadline of a read that is given none. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/**
 * Requests at the same time. Hardhat's pool opens up to two connections for each,
 * because one is not free yet when the next request is sent.
 */
const MAX_CONCURRENCY = 16;

/** Method of a batch, whose parameters are the calls; only a fork's transport has it. */
export const BATCH = "a batch of requests";

/**
 * Methods that are safe to send twice. Any other is sent once, at once and without a
 * deadline: its answer must not be lost.
 */
const safeToResend =
  /^(?:eth_(?:accounts|blockNumber|call|chainId|createAccessList|estimateGas|feeHistory|gasPrice|get\w+|maxPriorityFeePerGas|simulateV1)|debug_trace(?:Call|Transaction)|anvil_nodeInfo|hardhat_metadata|net_version|web3_clientVersion)$/u;

/** Refusals within this time are of requests that were sent together, and count once. */
const SLOWED_AGAIN_MS = 200;

/** Turns of the requests to a node, of which fewer are sent at a time if it limits the rate. */
class Turns {
  public readonly take = pLimit(MAX_CONCURRENCY);
  #answeredInARow = 0;
  #slowedAt = -Infinity;

  /** As TCP does: half as many after a refusal, one more after four times as many answers. */
  public adapt(isRateLimited: boolean): void {
    const { concurrency } = this.take;
    this.#answeredInARow = isRateLimited ? 0 : this.#answeredInARow + 1;
    if (!isRateLimited && this.#answeredInARow >= 4 * concurrency) {
      this.#answeredInARow = 0;
      this.take.concurrency = Math.min(concurrency + 1, MAX_CONCURRENCY);
    }
    const now = performance.now();
    if (isRateLimited && now - this.#slowedAt > SLOWED_AGAIN_MS) {
      this.#slowedAt = now;
      this.take.concurrency = Math.max(1, concurrency >> 1);
    }
  }
}

/** State of a node, shared by all clients of a connection. */
export class KnownNode {
  public readonly blocks = new KnownBlocks();
  /** False if it takes a block's number, and not its hash (EIP-1898). */
  public takesHashes: boolean | undefined;
  /** Hash of a block that was read by its number, because the node seemed to lack the hash. */
  public readByNumber: string | undefined;
  /** True if it applies state overrides, which the lens needs. */
  public runsLens: boolean | undefined;
  public isDevelopment: boolean | undefined;
  /** The account that settles unless another is named. */
  public sender: Address | undefined;
  /**
   * Tasks that change a development chain, one after the other: one that writes back a value
   * or reverts to a snapshot must not undo changes of another.
   */
  public readonly changes = pLimit(1);
  /** What each account sends, by its lower-case address, one after the other. */
  public readonly senders = new Map<string, ReturnType<typeof pLimit>>();
  /** Why it cannot simulate a settlement right. */
  public simulatesNot: string | undefined;
  /** True if its `eth_simulateV1` takes a block's number, and not its hash. */
  public simulatesByNumber = false;
  /**
   * The newest failure of a request that is being retried. A deadline that ends other work
   * meanwhile, such as a lookup of an address, has it as its reason.
   */
  public failing: VaultError | undefined;
  public readonly turns = new Turns();

  /**
   * @param redactor Knows the secrets of the connection.
   * @param isBehindHardhat True if Hardhat and its plugins handle each request.
   */
  constructor(
    public readonly redactor = new Redactor(),
    public readonly isBehindHardhat = false,
  ) {}
}

/** What the requests of a client have in common. */
interface Limits {
  readonly deadlines: readonly AbortSignal[];
  /** Those, and the signals of the caller, who gets their reason. */
  readonly ends: readonly AbortSignal[];
  readonly onRetry?: (event: RetryEvent) => void;
  /** Failures of a kind with which a request ends. */
  readonly most: Readonly<Record<FailureReason, number>>;
}

const MOST_RATE_LIMITED = 15;
const noLimits: Limits = {
  deadlines: [],
  ends: [],
  most: { transient: usualRetries, rateLimited: MOST_RATE_LIMITED },
};

/**
 * Sends every request to a node, retries by the class of the failure, and checks each
 * answer.
 */
export class RpcClient {
  constructor(
    private readonly provider: Eip1193Provider,
    public readonly network: string,
    public readonly node = new KnownNode(),
    private readonly limits = noLimits,
  ) {}

  /**
   * Creates a client whose requests share these options, next to those that this client
   * has: the first deadline counts, and each `onRetry` is called.
   *
   * @param standardTimeout Milliseconds if there is no deadline yet.
   */
  public withOptions(
    { timeout, signal, onRetry }: RequestOptions,
    standardTimeout?: number,
  ): RpcClient {
    const { deadlines, ends, onRetry: outer } = this.limits;
    const time =
      timeout ?? (deadlines.length > 0 ? undefined : standardTimeout);
    const added =
      time === undefined ? [] : [AbortSignal.timeout(Math.ceil(time))];
    return this.#with({
      deadlines: [...deadlines, ...added],
      ends: [...ends, ...added, ...(signal === undefined ? [] : [signal])],
      onRetry: (event) => {
        outer?.(event);
        onRetry?.(event);
      },
    });
  }

  /** Creates a client whose requests end with so many failures of a kind. */
  public withRetries(
    transient: number,
    rateLimited = transient === noRetries ? noRetries : MOST_RATE_LIMITED,
  ): RpcClient {
    return this.#with({ most: { transient, rateLimited } });
  }

  #with(limits: Partial<Limits>): RpcClient {
    const { provider, network, node } = this;
    const all = { ...this.limits, ...limits };
    return new RpcClient(provider, network, node, all);
  }

  /** What ends its requests, for a caller with its own loop. */
  public get ends(): readonly AbortSignal[] {
    return this.limits.ends;
  }

  /** Hides the secrets of the connection in texts from outside. */
  public get redactor(): Redactor {
    return this.node.redactor;
  }

  public get source(): Source {
    const { network, node } = this;
    const { redactor, isBehindHardhat } = node;
    return { network, redactor, isBehindHardhat };
  }

  public readonly hide = (text: string): string => this.redactor.hide(text);

  public parser(method: string): ResponseParser {
    return new ResponseParser(this.network, method);
  }

  /** Sends a request that executes no contract, else as {@link requestOrRevert}. */
  public async request(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<unknown> {
    const outcome = await this.#repeat(method, params);
    if ("kind" in outcome) {
      throw toError(outcome, method, this.source);
    }
    return outcome.result;
  }

  /**
   * Sends a request that may execute a contract. Retries a failed one if its class,
   * the number of its failures and the deadline allow that.
   *
   * @returns The result, or the reason of a revert.
   * @throws The reason of an aborted signal, else a VaultError.
   * Of the node: VAULT_RPC_ERROR if it refuses, VAULT_RPC_INVALID_RESPONSE if its answer
   * is no JSON-RPC; for a block's header, VAULT_BLOCK_NOT_FOUND if only another node has it.
   * Of the way to it: VAULT_NETWORK_UNREACHABLE, also for an HTTP status, and
   * VAULT_RPC_TIMEOUT.
   * Of a setting: VAULT_WRONG_CHAIN, VAULT_CONFIG_VARIABLE and VAULT_INVALID_ARGUMENT.
   * Of Hardhat or another plugin: VAULT_HARDHAT_ERROR.
   */
  public async requestOrRevert(
    method: string,
    params: readonly unknown[],
  ): Promise<Answered | Reverted> {
    const outcome = await this.#repeat(method, params);
    return "kind" in outcome ? { reverted: outcome.revert } : outcome;
  }

  async #repeat(
    method: string,
    params: readonly unknown[],
  ): Promise<Answered | Revert> {
    const { node, source, limits } = this;
    if (method !== BATCH && !safeToResend.test(method)) {
      const outcome = await this.#send(method, params);
      if (isFinal(outcome)) {
        return outcome;
      }
      throw toError(outcome, method, source);
    }
    const begunAt = performance.now();
    // Counted apart: a node that limited the rate for long may still fail in passing.
    const failures = { rateLimited: 0, transient: 0 };
    let attempts = 0;
    let failed: Failure | undefined;
    const errorOf = (failure: Failure): VaultError => {
      const seconds = Math.round((performance.now() - begunAt) / 1_000);
      const count = attempts > 1 ? { attempts, seconds } : undefined;
      return toError(failure, method, source, count);
    };
    const attempt = async (
      over: Promise<never>,
    ): Promise<Answered | Revert | undefined> => {
      // One that waited for its turn for too long is not sent.
      firstAborted(limits.ends)?.throwIfAborted();
      attempts += 1;
      const outcome = await Promise.race([this.#send(method, params), over]);
      const isAnswer = isFinal(outcome);
      node.turns.adapt(!isAnswer && outcome.retry === "rateLimited");
      if (isAnswer) {
        node.failing = undefined;
        return outcome;
      }
      const { retry: reason, retryAfterMs } = outcome;
      if (
        reason === undefined ||
        (failures[reason] += 1) >= limits.most[reason]
      ) {
        node.failing = undefined;
        throw errorOf(outcome);
      }
      failed = outcome;
      node.failing = errorOf(outcome);
      const { shortMessage: problem } = toError(outcome, method, source);
      // It keeps its turn: others wait before they are sent.
      await this.waitBefore(
        { method, reason, problem, attempt: attempts },
        waitAfter(attempts, retryAfterMs),
      );
      return undefined;
    };
    const repeat = async (over: Promise<never>): Promise<Answered | Revert> =>
      (await node.turns.take(attempt, over)) ?? (await repeat(over));
    return await this.#untilEnd(method, repeat, () =>
      failed === undefined ? undefined : errorOf(failed),
    );
  }

  async #send(
    method: string,
    params: readonly unknown[],
  ): Promise<Answered | Failure> {
    const { network, node } = this;
    const isOfKnownBlock =
      node.blocks.includeBlockOf(method, params) ||
      // Only a block that some node has is named by its hash.
      (node.takesHashes === true &&
        params.some((one) => asRecord(one)["blockHash"] !== undefined));
    let result: unknown;
    try {
      result = (await this.provider.request({ method, params })) ?? null;
    } catch (thrown) {
      if (!isEmptyAnswer(thrown)) {
        const failure = classify(thrown, this.source);
        return failure.kind === "behind" && isOfKnownBlock
          ? { ...failure, retry: "transient" }
          : failure;
      }
      result = null;
    }
    if (method === BLOCK_METHOD && result === null && isOfKnownBlock) {
      const error = blockNotFound(network, String(params[0]));
      return { kind: "behind", retry: "transient", error };
    }
    return { result };
  }

  /**
   * Waits before a request is repeated, and reports it to the listeners.
   *
   * @returns False if the deadline came first.
   * @throws the reason of an aborted signal
   */
  public async waitBefore(
    event: RetryEvent,
    milliseconds: number,
  ): Promise<boolean> {
    const { deadlines, ends, onRetry } = this.limits;
    onRetry?.(event);
    await pause(milliseconds, ...ends);
    const isOver = firstAborted(deadlines) !== undefined;
    if (!isOver) {
      firstAborted(ends)?.throwIfAborted();
    }
    return !isOver;
  }

  /**
   * Waits until the deadline for work that does not use this client.
   *
   * @param method Name of the work in error texts.
   */
  public async withinDeadline<T>(method: string, work: Promise<T>): Promise<T> {
    return await this.#untilEnd(method, async () => await work);
  }

  /** @param failed An earlier failure of the work explains more than a timeout. */
  async #untilEnd<T>(
    method: string,
    work: (over: Promise<never>) => Promise<T>,
    failed = (): VaultError | undefined => undefined,
  ): Promise<T> {
    const { network, node, limits } = this;
    try {
      return await orAbort(work, ...limits.ends);
    } catch (error) {
      if (!isAbortOf(limits.deadlines, error)) {
        throw error;
      }
      const details = { network, method };
      throw (
        failed() ?? node.failing ?? vaultError("VAULT_RPC_TIMEOUT", details)
      );
    }
  }
}

/** A revert, with which a request ends as with an answer. */
type Revert = Failure & { readonly revert: RevertReason };

function isFinal(outcome: Answered | Failure): outcome is Answered | Revert {
  return "result" in outcome || outcome.revert !== undefined;
}

import pLimit from "p-limit";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { Address } from "../protocol/index.js";
import { Redactor, quoteForeignText } from "../redact.js";
import type { Eip1193Provider } from "./eip1193.js";
import { classify, toError } from "./errors.js";
import type { Failure, Source } from "./errors.js";
import { BLOCK_METHOD, KnownBlocks, blockNotFound } from "./block-id.js";
import { ResponseParser } from "./response-parser.js";
import { usualRetries, waitAfter } from "./retry.js";
import type { RetryEvent, RetryPolicy } from "./retry.js";
import type { RevertReason } from "./revert-reason.js";
import { firstAborted, isAbortOf, orAbort, pause } from "./signals.js";
import { isEmptyAnswer } from "./errors.js";

export interface Reverted {
  readonly reverted: RevertReason;
}

export type Executed = Answered | Reverted;

interface Answered {
  readonly result: unknown;
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
  /** Those that change a development chain, one after the other. */
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

/** What the requests of one group share. */
interface RequestGroup {
  readonly deadlines: readonly AbortSignal[];
  /** Those of the caller, who gets their reason. */
  readonly signals: readonly AbortSignal[];
  /** Called before each retry, the outermost first. */
  readonly listeners: ReadonlyArray<(event: RetryEvent) => void>;
  /**
   * The failure of a request that was retried until the deadline. Later requests throw it,
   * too: a snapshot makes others after it, and a timeout would hide the node's words.
   */
  failureAtDeadline?: VaultError | undefined;
}

/**
 * Sends every request to a node, retries by the class of the failure, and checks each
 * answer.
 */
export class RpcClient {
  constructor(
    private readonly provider: Eip1193Provider,
    public readonly network: string,
    public readonly node = new KnownNode(),
    private readonly group: RequestGroup = {
      deadlines: [],
      signals: [],
      listeners: [],
    },
    private readonly policy = usualRetries,
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
    const { deadlines, signals, listeners } = this.group;
    const time =
      timeout ?? (deadlines.length > 0 ? undefined : standardTimeout);
    if (time === undefined && signal === undefined && onRetry === undefined) {
      return this;
    }
    const deadline =
      time === undefined ? [] : [AbortSignal.timeout(Math.ceil(time))];
    return this.#with(
      {
        deadlines: [...deadlines, ...deadline],
        signals: [...signals, ...(signal === undefined ? [] : [signal])],
        listeners: [...listeners, ...(onRetry === undefined ? [] : [onRetry])],
      },
      this.policy,
    );
  }

  public withRetries(policy: RetryPolicy): RpcClient {
    return this.#with(this.group, policy);
  }

  #with(group: RequestGroup, policy: RetryPolicy): RpcClient {
    const { provider, network, node } = this;
    return new RpcClient(provider, network, node, group, policy);
  }

  /** Hides the secrets of the connection in texts from outside. */
  public get redactor(): Redactor {
    return this.node.redactor;
  }

  public get source(): Source {
    const { network } = this;
    const { redactor, isBehindHardhat } = this.node;
    return { network, redactor, isBehindHardhat };
  }

  public readonly hide = (text: string): string => this.redactor.hide(text);

  public parser(method: string): ResponseParser {
    return new ResponseParser(this.network, method);
  }

  /** Sends a request that executes no contract. */
  public async request(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<unknown> {
    const executed = await this.requestOrRevert(method, params);
    if ("reverted" in executed) {
      const problem = quoteForeignText(executed.reverted.text);
      const failure = { kind: "reverted", problem } as const;
      throw toError(failure, method, this.source);
    }
    return executed.result;
  }

  /**
   * Sends a request that may execute a contract. Retries a failed one if its class,
   * the policy and the deadline allow that.
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
  ): Promise<Executed> {
    const { node, source } = this;
    if (method !== BATCH && !safeToResend.test(method)) {
      const outcome = await this.#send(method, params);
      if ("kind" in outcome) {
        throw toError(outcome, method, source);
      }
      return outcome;
    }
    const begunAt = performance.now();
    // Counted apart: a node that limited the rate for long may still fail in passing.
    const failures = { rateLimited: 0, transient: 0 };
    let attempts = 0;
    let failed: Failure | undefined;
    let failing: VaultError | undefined;
    const errorOf = (failure: Failure): VaultError => {
      const seconds = Math.round((performance.now() - begunAt) / 1_000);
      const count = attempts > 1 ? { attempts, seconds } : undefined;
      return toError(failure, method, source, count);
    };
    const attempt = async (
      over: Promise<never>,
    ): Promise<Executed | undefined> => {
      // One that waited for its turn for too long is not sent.
      firstAborted(this.ends)?.throwIfAborted();
      attempts += 1;
      const outcome = await Promise.race([this.#send(method, params), over]);
      const isFailed = "kind" in outcome;
      node.turns.adapt(isFailed && outcome.retry === "rateLimited");
      if (!isFailed) {
        return outcome;
      }
      const { retry: reason, retryAfterMs } = outcome;
      if (
        reason === undefined ||
        (failures[reason] += 1) >= this.policy[reason]
      ) {
        throw errorOf(outcome);
      }
      failed = outcome;
      failing = toError(outcome, method, source);
      node.failing = failing;
      const { shortMessage: problem } = failing;
      // It keeps its turn: others wait before they are sent.
      await this.waitBefore(
        { method, reason, problem, attempt: attempts },
        waitAfter(attempts, retryAfterMs),
      );
      return undefined;
    };
    const repeat = async (over: Promise<never>): Promise<Executed> =>
      (await node.turns.take(attempt, over)) ?? (await repeat(over));
    try {
      return await this.#untilEnd(method, repeat, () =>
        failed === undefined ? undefined : errorOf(failed),
      );
    } finally {
      if (node.failing === failing) {
        node.failing = undefined;
      }
    }
  }

  async #send(
    method: string,
    params: readonly unknown[],
  ): Promise<Executed | Failure> {
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
        const { kind, revert } = failure;
        return revert !== undefined
          ? { reverted: revert }
          : kind === "behind" && isOfKnownBlock
            ? { ...failure, retry: "transient" }
            : failure;
      }
      result = null;
    }
    return method === BLOCK_METHOD && result === null && isOfKnownBlock
      ? {
          kind: "behind",
          retry: "transient",
          error: blockNotFound(network, String(params[0])),
        }
      : { result };
  }

  /**
   * Waits before a request is repeated, and reports it to the group's listeners.
   *
   * @returns False if the group's deadline came first.
   * @throws the reason of an aborted signal
   */
  public async waitBefore(
    event: RetryEvent,
    milliseconds: number,
  ): Promise<boolean> {
    const { deadlines, signals, listeners } = this.group;
    for (const listener of listeners) {
      listener(event);
    }
    await pause(milliseconds, ...this.ends);
    firstAborted(signals)?.throwIfAborted();
    return firstAborted(deadlines) === undefined;
  }

  /**
   * Waits until the group's deadline for work that does not use this client.
   *
   * @param method Name of the work in error texts.
   */
  public async withinDeadline<T>(method: string, work: Promise<T>): Promise<T> {
    return await this.#untilEnd(method, async () => await work);
  }

  public get ends(): readonly AbortSignal[] {
    return [...this.group.deadlines, ...this.group.signals];
  }

  /** @param failed An earlier failure of the work explains more than a timeout. */
  async #untilEnd<T>(
    method: string,
    work: (over: Promise<never>) => Promise<T>,
    failed = (): VaultError | undefined => undefined,
  ): Promise<T> {
    const { network, node, group } = this;
    try {
      return await orAbort(work, ...this.ends);
    } catch (error) {
      if (!isAbortOf(group.deadlines, error)) {
        throw error;
      }
      group.failureAtDeadline ??= failed();
      throw (
        group.failureAtDeadline ??
        node.failing ??
        vaultError("VAULT_RPC_TIMEOUT", { network, method })
      );
    }
  }
}

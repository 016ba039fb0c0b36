import pLimit from "p-limit";

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { Redactor, quoteForeignText } from "../redact.js";
import type { Eip1193Provider } from "./eip1193.js";
import { classify } from "./errors.js";
import type { Failure, Source } from "./errors.js";
import { BLOCK_METHOD, KnownBlocks, blockNotFound } from "./block-id.js";
import { ResponseParser } from "./response-parser.js";
import { usualRetries, waitAfter } from "./retry.js";
import type { RetryEvent, RetryPolicy } from "./retry.js";
import type { RevertReason } from "./revert-reason.js";
import { firstAborted, isAbortOf, orAbort, pause } from "./signals.js";
import { isEmptyAnswer } from "./thrown.js";

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

/** Deadline of a request whose group has none. */
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
  #most = MAX_CONCURRENCY;
  #underWay = 0;
  #answeredInARow = 0;
  #slowedAt = -Infinity;
  /** Those that were sent before come first. */
  readonly #again: Array<() => void> = [];
  readonly #waiting: Array<() => void> = [];

  /** A request keeps its turn while it is retried: others wait before they are sent. */
  public async take<T>(work: () => Promise<T>): Promise<T> {
    await this.#begin(this.#waiting);
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  /** Before a retry: gives back a turn too many, and waits for the next. */
  public async keep(): Promise<void> {
    if (this.#underWay > this.#most) {
      this.#underWay -= 1;
      await this.#begin(this.#again);
    }
  }

  /** As TCP does: half as many after a refusal, one more after four times as many answers. */
  public adapt(isRateLimited: boolean): void {
    if (isRateLimited) {
      this.#answeredInARow = 0;
      const now = performance.now();
      if (now - this.#slowedAt > SLOWED_AGAIN_MS) {
        this.#slowedAt = now;
        this.#most = Math.max(1, this.#most >> 1);
      }
      return;
    }
    this.#answeredInARow += 1;
    if (
      this.#most < MAX_CONCURRENCY &&
      this.#answeredInARow >= 4 * this.#most
    ) {
      this.#answeredInARow = 0;
      this.#most += 1;
    }
  }

  async #begin(queue: Array<() => void>): Promise<void> {
    if (this.#underWay < this.#most) {
      this.#underWay += 1;
      return;
    }
    await new Promise<void>((resolve) => {
      queue.push(resolve);
    });
  }

  #end(): void {
    this.#underWay -= 1;
    while (this.#underWay < this.#most) {
      const next = this.#again.shift() ?? this.#waiting.shift();
      if (next === undefined) {
        return;
      }
      this.#underWay += 1;
      next();
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

/** State that the requests of one group share. */
interface RequestGroup {
  /** Without one, each request has its own. */
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
    const { group } = this;
    const hasDeadline = group.deadlines.length > 0;
    const time = timeout ?? (hasDeadline ? undefined : standardTimeout);
    if (time === undefined && signal === undefined && onRetry === undefined) {
      return this;
    }
    const { deadlines, signals, listeners } = group;
    return this.#with(
      {
        deadlines:
          time === undefined
            ? deadlines
            : [...deadlines, AbortSignal.timeout(Math.ceil(time))],
        signals: signal === undefined ? signals : [...signals, signal],
        listeners: onRetry === undefined ? listeners : [...listeners, onRetry],
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
      throw vaultError("VAULT_RPC_ERROR", {
        network: this.network,
        method,
        problem: quoteForeignText(executed.reverted.text),
      });
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
    if (method !== BATCH && !safeToResend.test(method)) {
      const executed = await this.#send(method, params);
      if ("kind" in executed) {
        throw executed.toError(method);
      }
      return executed;
    }
    const { node, policy } = this;
    const { deadlines, signals, listeners } = this.group;
    const own = new AbortController();
    // Not AbortSignal.timeout(), which would stay for as long after each request.
    const timer = setTimeout(() => {
      own.abort();
    }, DEFAULT_TIMEOUT_MS);
    const ends = [
      ...(deadlines.length === 0 ? [own.signal] : deadlines),
      ...signals,
    ];
    const begunAt = performance.now();
    // Counted apart: a node that limited the rate for long may still fail in passing.
    const failures = { rateLimited: 0, transient: 0 };
    let sent = 0;
    let failed: Failure | undefined;
    let failing: VaultError | undefined;
    const errorOf = (failure: Failure): VaultError => {
      const seconds = Math.round((performance.now() - begunAt) / 1_000);
      return failure.toError(
        method,
        sent > 1 ? { attempts: sent, seconds } : undefined,
      );
    };
    // All in one turn. A request that hangs gives its turn to another at the deadline.
    const sendInTurn = async (over: Promise<never>): Promise<Executed> => {
      for (;;) {
        // One that waited for its turn for too long is not sent.
        firstAborted(ends)?.throwIfAborted();
        sent += 1;
        const outcome = await Promise.race([this.#send(method, params), over]);
        const isFailed = "kind" in outcome;
        node.turns.adapt(isFailed && outcome.retry === "rateLimited");
        if (!isFailed) {
          return outcome;
        }
        failed = outcome;
        const { retry: reason, retryAfterMs } = outcome;
        if (reason === undefined || (failures[reason] += 1) >= policy[reason]) {
          throw errorOf(outcome);
        }
        failing = outcome.toError(method);
        node.failing = failing;
        const { shortMessage: problem } = failing;
        for (const listener of listeners) {
          listener({ method, reason, problem, attempt: sent });
        }
        await pause(waitAfter(sent, retryAfterMs), ...ends);
        await node.turns.keep();
      }
    };
    try {
      return await orAbort(
        async (over) =>
          await node.turns.take(async () => await sendInTurn(over)),
        ...ends,
      );
    } catch (error) {
      if (isAbortOf(signals, error) || !isAbortOf(ends, error)) {
        throw error;
      }
      throw this.#atDeadline(
        method,
        failed === undefined ? undefined : errorOf(failed),
      );
    } finally {
      clearTimeout(timer);
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
    const isOfKnownBlock = node.blocks.includeBlockOf(method, params);
    let result: unknown;
    try {
      result = (await this.provider.request({ method, params })) ?? null;
    } catch (thrown) {
      if (!isEmptyAnswer(thrown)) {
        const failure = classify(thrown, this.source);
        const { kind, revert } = failure;
        // Of a request with overrides, the node may refuse those.
        return revert !== undefined
          ? { reverted: revert }
          : kind === "behind" &&
              isOfKnownBlock &&
              params.length <= 2 &&
              method !== "eth_simulateV1"
            ? { ...failure, retry: "transient" }
            : failure;
      }
      result = null;
    }
    return method === BLOCK_METHOD && result === null && isOfKnownBlock
      ? {
          kind: "behind",
          retry: "transient",
          toError: () => blockNotFound(network, String(params[0])),
        }
      : { result };
  }

  /** @param failure An earlier failure explains more than a timeout. */
  #atDeadline(method: string, failure?: VaultError): VaultError {
    const { network, group, node } = this;
    group.failureAtDeadline ??= failure;
    return (
      group.failureAtDeadline ??
      node.failing ??
      vaultError("VAULT_RPC_TIMEOUT", { network, method })
    );
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
    await pause(milliseconds, ...deadlines, ...signals);
    firstAborted(signals)?.throwIfAborted();
    return firstAborted(deadlines) === undefined;
  }

  /**
   * Waits until the group's deadline for work that does not use this client.
   *
   * @param method Name of the work in error texts.
   */
  public async withinDeadline<T>(method: string, work: Promise<T>): Promise<T> {
    const { deadlines, signals } = this.group;
    if (deadlines.length === 0 && signals.length === 0) {
      return await work;
    }
    try {
      return await orAbort(work, ...deadlines, ...signals);
    } catch (error) {
      throw isAbortOf(deadlines, error) ? this.#atDeadline(method) : error;
    }
  }
}

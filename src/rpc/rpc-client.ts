import { Buffer } from "node:buffer";

import { isHexString } from "ethers";

import {
  VaultError,
  callListener,
  invalidArgument,
  vaultError,
} from "../errors.js";
import { asRecord } from "../json.js";
import type { Redactor } from "../foreign-text.js";
import type { Hex } from "../protocol/index.js";
import { classify, isEmptyAnswer } from "./errors.js";
import type { Failure, RetryReason } from "./errors.js";
import { KnownNode } from "./known-node.js";
import type { Reverted } from "./revert-reason.js";
import { orAbort, pause } from "./signals.js";

/** The part of an EIP-1193 provider that this package needs. */
export interface Eip1193Provider {
  request(args: {
    readonly method: string;
    readonly params?: readonly unknown[];
  }): Promise<unknown>;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT for anything but an EIP-1193 provider */
export function requireProvider(provider: Eip1193Provider): Eip1193Provider {
  const given: unknown = provider;
  if (typeof asRecord(given)["request"] === "function") {
    return provider;
  }
  // A URL may hold a key, so a text is not shown.
  throw invalidArgument(
    "provider",
    `an EIP-1193 provider, an object with request(), is needed, got a value of type ${typeof given}`,
    "Pass the provider of a Hardhat connection, a client of viem, or window.ethereum. For ethers' JsonRpcProvider, pass { request: ({ method, params }) => provider.send(method, params ?? []) }.",
  );
}

export interface Answered {
  readonly result: unknown;
}

/** A request that is about to be repeated. */
export interface RetryEvent {
  readonly method: string;
  /**
   * `rateLimited`: the node limits the rate of requests. `transient`: any other temporary
   * failure, such as a node that lacks a block that another one has.
   */
  readonly reason: RetryReason;
  /** The failure, safe to show. */
  readonly problem: string;
  /** Number of attempts so far. */
  readonly attempt: number;
}

/** Options of a group of requests, such as those of one read. */
export interface RequestOptions {
  /** Milliseconds for the whole group, retries included. */
  readonly timeout?: number | undefined;
  /**
   * Ends the wait for the requests, which then throw its reason. A transaction is still sent,
   * and if it has left, an error or a settlement names it.
   */
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: ((event: RetryEvent) => unknown) | undefined;
}

/** Deadline of a read that is given none. */
export const DEFAULT_TIMEOUT_MS = 300_000;

// Attempts at a request that fails in passing.
export const usualRetries = 6;
/** For a large request, or one with a fallback: its size may be the reason. */
export const fewRetries = 3;
/** For a caller with its own loop. */
export const noRetries = 1;

const MOST_RATE_LIMITED = 15;

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** A node may request more, but the task would seem to hang. */
const LONGEST_RETRY_AFTER_MS = 10_000;

export const BLOCK_METHOD = "eth_getBlockByNumber";

/** Method of a batch, whose parameters are the calls; only a fork's transport has it. */
export const BATCH = "a batch of requests";

/**
 * Methods that are safe to send twice. Any other is sent once, at once and without a
 * deadline: its answer must not be lost.
 */
const safeToResend =
  /^(?:a batch of requests|eth_(?:accounts|blockNumber|call|chainId|createAccessList|estimateGas|feeHistory|gasPrice|get\w+|maxPriorityFeePerGas|simulateV1)|debug_trace(?:Call|Transaction)|anvil_nodeInfo|hardhat_metadata|net_version|web3_clientVersion)$/u;

/** What the requests of a client have in common. */
interface Limits {
  /** A time of `performance.now()`. */
  readonly deadline: number;
  /** Signals of the caller, who gets their reason. */
  readonly signals: readonly AbortSignal[];
  readonly onRetry?: (event: RetryEvent) => void;
  /** Attempts at a request that fails in passing. */
  readonly retries: number;
}

const noLimits: Limits = {
  deadline: Infinity,
  signals: [],
  retries: usualRetries,
};

/** Sends every request to a node, and retries by the class of the failure. */
export class RpcClient {
  constructor(
    private readonly provider: Eip1193Provider,
    public readonly network: string,
    public readonly node = new KnownNode(),
    public readonly limits = noLimits,
  ) {}

  /**
   * Creates a client whose requests share these options, next to those that this client
   * has: the first deadline counts, and each `onRetry` is called.
   *
   * @param standardTimeout Milliseconds if there is no deadline yet.
   */
  public withOptions(
    { timeout, signal, onRetry }: RequestOptions,
    standardTimeout = Infinity,
  ): RpcClient {
    const { deadline, signals, onRetry: outer } = this.limits;
    const time =
      timeout ?? (deadline === Infinity ? standardTimeout : Infinity);
    return this.#with({
      deadline: Math.min(deadline, performance.now() + time),
      signals: signal === undefined ? signals : [...signals, signal],
      onRetry: (event) => {
        outer?.(event);
        callListener("onRetry", onRetry, event, event.method);
      },
    });
  }

  /** Creates a client that makes so many attempts at a request that fails in passing. */
  public withRetries(retries: number): RpcClient {
    return this.#with({ retries });
  }

  #with(limits: Partial<Limits>): RpcClient {
    const { provider, network, node } = this;
    const all = { ...this.limits, ...limits };
    return new RpcClient(provider, network, node, all);
  }

  /** Hides the secrets of the connection in texts from outside. */
  public get redactor(): Redactor {
    return this.node.redactor;
  }

  public parser(method: string): ResponseParser {
    return new ResponseParser(this.network, method);
  }

  public async requestQuantity(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<bigint> {
    return this.parser(method).quantity(await this.request(method, params));
  }

  /** Sends a request that executes no contract, else as {@link requestOrRevert}. */
  public async request(
    method: string,
    params: readonly unknown[] = [],
  ): Promise<unknown> {
    const outcome = await this.#repeat(method, params);
    if ("error" in outcome) {
      throw outcome.error;
    }
    return outcome.result;
  }

  /**
   * Sends a request that may execute a contract. Retries a failed one if its class,
   * the number of attempts and the deadline allow that.
   *
   * @returns The result, or the reason of a revert.
   * @throws The reason of an aborted signal, else a VaultError.
   * Of the node: VAULT_RPC_ERROR if it refuses, VAULT_RPC_INVALID_RESPONSE if its answer
   * is no JSON-RPC; for a block's header, VAULT_BLOCK_NOT_FOUND if only another node has it.
   * Of the way to it: VAULT_NETWORK_UNREACHABLE, also for an HTTP status without an error of
   * the node, and VAULT_RPC_TIMEOUT.
   * Of a setting: VAULT_WRONG_CHAIN and VAULT_CONFIG_VARIABLE.
   * Of Hardhat or another plugin: VAULT_HARDHAT_ERROR.
   */
  public async requestOrRevert(
    method: string,
    params: readonly unknown[],
  ): Promise<Answered | Reverted> {
    const outcome = await this.#repeat(method, params);
    if (!("error" in outcome)) {
      return outcome;
    }
    if (outcome.revert === undefined) {
      throw outcome.error;
    }
    return { reverted: outcome.revert };
  }

  async #repeat(
    method: string,
    params: readonly unknown[],
  ): Promise<Answered | Failure> {
    const send = async (): Promise<Answered | Failure> =>
      await this.#send(method, params);
    if (!safeToResend.test(method)) {
      return await send();
    }
    const { node, limits } = this;
    let failed: VaultError | undefined;
    const earlier = (): VaultError | undefined => failed;
    /** @returns Undefined if the request is to be repeated. */
    const attempt = async (
      count: number,
    ): Promise<Answered | Failure | undefined> => {
      // One that waited for its turn for too long is not sent.
      const outcome = await this.withinDeadline(method, send, earlier);
      const reason = "error" in outcome ? outcome.retry : undefined;
      node.pace.adapt(reason === "rateLimited");
      node.failing = undefined;
      if (!("error" in outcome)) {
        return outcome;
      }
      const error = afterAttempts(outcome.error, count);
      const most =
        reason === "rateLimited" && limits.retries > noRetries
          ? MOST_RATE_LIMITED
          : limits.retries;
      if (reason === undefined || count >= most) {
        return { ...outcome, error };
      }
      failed = error;
      node.failing = error;
      const { shortMessage: problem } = outcome.error;
      // It keeps its turn: others wait before they are sent.
      limits.onRetry?.({ method, reason, problem, attempt: count });
      await this.pause(waitAfter(count, outcome.retryAfterMs));
      return undefined;
    };
    const repeat = async (): Promise<Answered | Failure> => {
      for (let count = 1; ; count += 1) {
        const outcome = await node.pace.turns(attempt, count);
        if (outcome !== undefined) {
          return outcome;
        }
      }
    };
    // Connections of Hardhat keep the process, other providers may not.
    const keepsProcess = !node.isBehindHardhat;
    return await this.withinDeadline(method, repeat, earlier, keepsProcess);
  }

  async #send(
    method: string,
    params: readonly unknown[],
  ): Promise<Answered | Failure> {
    const { network, node } = this;
    const isOfKnownBlock = node.hasBlockOf(params);
    let result: unknown;
    try {
      result = (await this.provider.request({ method, params })) ?? null;
    } catch (thrown) {
      if (!isEmptyAnswer(thrown)) {
        const { redactor, isBehindHardhat } = node;
        const source = { network, redactor, isBehindHardhat };
        const failure = classify(thrown, source, method);
        return failure.kind === "behind" && isOfKnownBlock
          ? { ...failure, retry: "transient" }
          : failure;
      }
      result = null;
    }
    if (method === BLOCK_METHOD && result === null && isOfKnownBlock) {
      const block = String(Number(params[0]));
      const error = vaultError("VAULT_BLOCK_NOT_FOUND", { network, block });
      return { kind: "behind", retry: "transient", error };
    }
    return { result };
  }

  /** Waits, until the end at most. */
  public async pause(milliseconds: number): Promise<void> {
    const { deadline, signals } = this.limits;
    const left = deadline - performance.now();
    await pause(Math.min(milliseconds, left), ...signals);
  }

  /**
   * Waits until the deadline for work that does not use this client.
   *
   * @param method Name of the work in error texts.
   * @param failed An earlier failure of the work explains more than a timeout.
   * @param keepsProcess True if the process is to keep running until then, whatever the work is.
   */
  public async withinDeadline<T>(
    method: string,
    work: () => Promise<T>,
    failed = (): VaultError | undefined => undefined,
    keepsProcess = false,
  ): Promise<T> {
    const { network, node } = this;
    const { deadline, signals } = this.limits;
    if (deadline === Infinity && signals.length === 0 && !keepsProcess) {
      return await work();
    }
    const late = () =>
      failed() ??
      node.failing ??
      vaultError("VAULT_RPC_TIMEOUT", { network, method });
    return await orAbort(work, signals, deadline - performance.now(), late);
  }
}

/** Milliseconds to wait after an attempt; the first is 1. */
function waitAfter(attempt: number, retryAfterMs = 0): number {
  const backoff = FIRST_WAIT_MS * 2 ** (attempt - 1) * (1 + Math.random());
  return (
    Math.min(backoff, LONGEST_WAIT_MS) +
    Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)
  );
}

/** Tells in the error of a request how often it was sent, if that was more than once. */
function afterAttempts(error: VaultError, attempts: number): VaultError {
  const { code, details, cause } = error;
  const { problem } = details;
  if (attempts === 1 || problem === undefined) {
    return error;
  }
  const told = `${String(problem).replace(/\.$/u, "")} (tried ${attempts} times)`;
  return new VaultError(code, { ...details, problem: told }, cause);
}

/** Throws VAULT_RPC_INVALID_RESPONSE for a result of another type. */
export class ResponseParser {
  constructor(
    private readonly network: string,
    private readonly method: string,
  ) {}

  /** Takes a JSON number, too, which some nodes write. */
  public quantity(value: unknown): bigint {
    if (Number.isSafeInteger(value) && Number(value) >= 0) {
      return BigInt(Number(value));
    }
    if (typeof value === "string" && /^0x[0-9a-f]{1,64}$/iu.test(value)) {
      return BigInt(value);
    }
    throw this.invalid("a quantity was expected");
  }

  /** Never rounds: a number that is too large throws. */
  public number(value: unknown): number {
    const number = Number(this.quantity(value));
    if (!Number.isSafeInteger(number)) {
      throw this.invalid("a number above 2^53 - 1");
    }
    return number;
  }

  /** Undefined for a value that the node omits. */
  public optional<T>(
    value: unknown,
    parse: (given: unknown) => T,
  ): T | undefined {
    return value === undefined || value === null ? undefined : parse(value);
  }

  public bytes(value: unknown): Buffer {
    if (typeof value === "string" && value.startsWith("0x")) {
      const bytes = Buffer.from(value.slice(2), "hex");
      // Buffer.from stops at the first character that is not hex.
      if (bytes.length * 2 === value.length - 2) {
        return bytes;
      }
    }
    throw this.invalid("not hex data");
  }

  public hash(value: unknown): Hex {
    if (isHexString(value, 32)) {
      return value;
    }
    throw this.invalid("a hash was expected");
  }

  public list(value: unknown): readonly unknown[] {
    if (!Array.isArray(value)) {
      throw this.invalid("a list was expected");
    }
    return value;
  }

  public record(value: unknown): Readonly<Record<string, unknown>> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.invalid("an object was expected");
    }
    return { ...value };
  }

  public invalid(problem: string): VaultError {
    const { network, method } = this;
    const details = { network, method, problem };
    return vaultError("VAULT_RPC_INVALID_RESPONSE", details);
  }
}

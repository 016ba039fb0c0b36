import { isHexString } from "ethers";
import pLimit from "p-limit";
import type { LimitFunction } from "p-limit";

import { vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { Deadline } from "./deadline.js";
import type { Eip1193Provider } from "./eip1193.js";
import { faultOf, toRpcError } from "./errors.js";
import type { Fault } from "./errors.js";

/** A request that is made again. */
export interface RetryEvent {
  readonly method: string;
  /**
   * `busy`: the node limits how often it is asked; `passing`: anything else that
   * may be over, as a node that has not seen a block yet that another one has.
   */
  readonly reason: Fault["kind"];
  /** What went wrong, safe to show. */
  readonly problem: string;
  /** How often it was made by now. */
  readonly attempt: number;
}

/** How patiently an operation reads. */
export interface Patience {
  /** Milliseconds until all of it has to be answered. */
  readonly timeout?: number | undefined;
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
}

type RequestArguments = Parameters<Eip1193Provider["request"]>[0];

/** Where no operation has a deadline of its own, each request has this one. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/**
 * Requests under way at a time, whoever makes them. Hardhat's pool opens up to
 * two connections for each: one is not free yet when the next is made.
 */
const MAX_CONCURRENCY = 16;

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** What a node may ask us to wait; more would look like a hang. */
const LONGEST_RETRY_AFTER_MS = 10_000;

type Attempts = Readonly<Record<Fault["kind"], number>>;

const maxAttempts: Attempts = { busy: 15, passing: 6 };
/** Where there is another way, that is soon the shorter one. */
const fewAttempts: Attempts = { busy: 15, passing: 3 };

/** What may be asked twice without doing anything twice. */
const repeatable =
  /^(?:eth_(?:accounts|blockNumber|call|chainId|estimateGas|gasPrice|get\w+|maxPriorityFeePerGas|simulateV1)|net_version|web3_clientVersion)$/u;

/** What is known of a provider, whichever operation asks it. */
interface Acquaintance {
  readonly limit: LimitFunction;
  /** The newest block that one of its nodes has told of. */
  newestBlock: number;
}

/** No node that can be used is further behind, and few keep older state. */
const MOST_BLOCKS_BEHIND = 128;

const acquaintances = new WeakMap<Eip1193Provider, Acquaintance>();
/** What a patient provider asks with. */
const patients = new WeakMap<Eip1193Provider, Asking>();

/** The provider behind a patient one. */
export function originOf(provider: Eip1193Provider): Eip1193Provider {
  return patients.get(provider)?.provider ?? provider;
}

/** A node behind this provider has that block; others may be behind. */
export function noteBlock(provider: Eip1193Provider, number: number): void {
  const known = acquaintanceOf(originOf(provider));
  if (Number.isSafeInteger(number) && number > known.newestBlock) {
    known.newestBlock = number;
  }
}

/**
 * The same provider for one operation: requests that only read are made again
 * where that may help, until the deadline, and only so many at a time. What is
 * patient already stays as it is, so that the outermost deadline holds.
 */
export function patient(
  provider: Eip1193Provider,
  network: string,
  { timeout, onRetry }: Patience = {},
): Eip1193Provider {
  if (patients.has(provider)) {
    return provider;
  }
  return calm({
    provider,
    network,
    known: acquaintanceOf(provider),
    deadline: timeout === undefined ? undefined : new Deadline(timeout),
    attempts: maxAttempts,
    ended: { tried: "" },
    onRetry,
  });
}

/**
 * Waits for work that asks by other ways than the provider of its operation, and
 * not beyond the deadline of that.
 *
 * @param method What error texts call the work.
 * @throws VaultError VAULT_RPC_TIMEOUT
 */
export async function withinDeadline<T>(
  provider: Eip1193Provider,
  method: string,
  work: Promise<T>,
): Promise<T> {
  const { deadline, network = "" } = patients.get(provider) ?? {};
  if (deadline === undefined) {
    return await work;
  }
  const done = await deadline.within(work.then((value) => ({ value })));
  if (done === undefined) {
    throw vaultError("VAULT_RPC_TIMEOUT", { network, method, tried: "" });
  }
  return done.value;
}

/**
 * A patient provider for a request that is heavy, or asked for in another way if
 * it fails: it is given up sooner, since the reason may also be its size.
 */
export function lessPatient(provider: Eip1193Provider): Eip1193Provider {
  const asking = patients.get(provider);
  return asking === undefined
    ? provider
    : calm({ ...asking, attempts: fewAttempts });
}

function calm(asking: Asking): Eip1193Provider {
  const { provider } = asking;
  const calmed: Eip1193Provider = {
    request: async (args) =>
      repeatable.test(args.method)
        ? await askPatiently(
            args,
            asking,
            asking.deadline ?? new Deadline(DEFAULT_TIMEOUT_MS),
          )
        : await provider.request(args),
  };
  patients.set(calmed, asking);
  return calmed;
}

interface Asking extends Pick<Patience, "onRetry"> {
  readonly provider: Eip1193Provider;
  readonly network: string;
  readonly known: Acquaintance;
  /** Of the operation; where it has none, each request has one. */
  readonly deadline: Deadline | undefined;
  readonly attempts: Attempts;
  /** How often the request was made that the deadline ended, for all after it. */
  readonly ended: { tried: string };
}

/** What a request came to; with a fault, it may come to something else. */
type Outcome = { readonly fault?: Fault | undefined } & (
  { readonly answer: unknown } | { readonly error: unknown }
);

async function askPatiently(
  args: RequestArguments,
  asking: Asking,
  deadline: Deadline,
): Promise<unknown> {
  const { network, attempts, ended, onRetry } = asking;
  const { method } = args;
  const begunAt = performance.now();
  let latest: Outcome | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await askOnce(args, asking, deadline);
    // What went wrong before says more than that the time is over.
    latest = outcome ?? latest;
    if (
      latest !== undefined &&
      "answer" in latest &&
      latest.fault === undefined
    ) {
      return latest.answer;
    }
    const seconds = Math.round((performance.now() - begunAt) / 1_000);
    const tried =
      attempt === 1 ? "" : ` (tried ${attempt} times in ${seconds} s)`;
    if (latest === undefined) {
      throw vaultError("VAULT_RPC_TIMEOUT", {
        network,
        method,
        tried: tried === "" ? ended.tried : tried,
      });
    }
    const { fault } = latest;
    if (
      outcome === undefined ||
      fault === undefined ||
      attempt >= attempts[fault.kind] ||
      deadline.isOver
    ) {
      if ("answer" in latest) {
        return latest.answer;
      }
      if (deadline.isOver && attempt > 1) {
        ended.tried = tried.replace("(", `(${method} was `);
      }
      throw attempt === 1
        ? latest.error
        : toRpcError(latest.error, network, method, tried);
    }
    const problem =
      "error" in latest
        ? toRpcError(latest.error, network, method).shortMessage
        : "the block is not there yet";
    onRetry?.({ method, reason: fault.kind, problem, attempt });
    const backoff = FIRST_WAIT_MS * 2 ** (attempt - 1) * (1 + Math.random());
    await deadline.pause(
      Math.min(backoff, LONGEST_WAIT_MS) +
        Math.min(fault.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS),
    );
  }
}

/** @returns Undefined if the deadline comes first. */
async function askOnce(
  args: RequestArguments,
  { provider, known }: Asking,
  deadline: Deadline,
): Promise<Outcome | undefined> {
  try {
    const outcome = await deadline.within(
      known.limit(async () =>
        // What waits longer than it may is not asked any more.
        deadline.isOver ? undefined : { answer: await provider.request(args) },
      ),
    );
    const isMissing =
      outcome?.answer === null && args.method === "eth_getBlockByNumber";
    noteAnswer(args, outcome?.answer, provider);
    return isMissing && isSeen(args, known)
      ? { ...outcome, fault: { kind: "passing" } }
      : outcome;
  } catch (error) {
    const fault = faultOf(error);
    return fault?.isOfBlock === true && !isSeen(args, known)
      ? { error }
      : { error, fault };
  }
}

/** Whether a block is asked for that some node has told of. */
function isSeen(
  { method, params = [] }: RequestArguments,
  { newestBlock }: Acquaintance,
): boolean {
  const block = params[method === "eth_getBlockByNumber" ? 0 : 1];
  return (
    isHexString(block) &&
    Number(block) <= newestBlock &&
    Number(block) > newestBlock - MOST_BLOCKS_BEHIND
  );
}

function noteAnswer(
  { method, params = [] }: RequestArguments,
  answer: unknown,
  provider: Eip1193Provider,
): void {
  if (method === "eth_blockNumber" && isHexString(answer)) {
    noteBlock(provider, Number(answer));
  }
  const { number } = asRecord(answer);
  if (method === "eth_getBlockByNumber" && isHexString(number)) {
    // The pending block is none yet: what it tells of is the one before.
    noteBlock(provider, Number(number) - (params[0] === "pending" ? 1 : 0));
  }
}

function acquaintanceOf(provider: Eip1193Provider): Acquaintance {
  const known = acquaintances.get(provider) ?? {
    limit: pLimit(MAX_CONCURRENCY),
    newestBlock: -1,
  };
  acquaintances.set(provider, known);
  return known;
}

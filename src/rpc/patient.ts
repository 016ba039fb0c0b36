import { isHexString } from "ethers";
import pLimit from "p-limit";
import type { LimitFunction } from "p-limit";
import pRetry from "p-retry";

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
   * `busy`: the node limits how often it is asked; `behind`: it has not seen a
   * block yet that was seen before; `passing`: anything else that may be over.
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
  /**
   * Milliseconds in which requests are made again, all of them together, from the
   * first failure on; as long as they may take unless given. What is under way
   * by then may still be answered.
   */
  readonly repeatFor?: number | undefined;
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

// Of two nodes behind a balancer, each is asked half of the time: fifteen times
// the same one is what one request in thirty thousand meets.
const maxAttempts: Attempts = { busy: 15, behind: 15, passing: 5 };
/** Where there is another way, that is soon the shorter one. */
const fewAttempts: Attempts = { ...maxAttempts, behind: 4, passing: 2 };

/** What may be asked twice without doing anything twice. */
const repeatable =
  /^(?:eth_(?:accounts|blockNumber|call|chainId|estimateGas|feeHistory|gasPrice|get\w+|maxPriorityFeePerGas|simulateV1)|net_version|web3_clientVersion)$/u;

/** What is known of a provider, whichever operation asks it. */
interface Acquaintance {
  readonly limit: LimitFunction;
  /** The newest block that one of its nodes has told of. */
  newestBlock: number;
  /** Answers in a row by which the chain does not reach that one. */
  readonly lowerHeads: number[];
  /** While the nodes are asked how far they are. */
  askingHeads: Promise<void> | undefined;
  /** Whether one of its nodes was seen to be behind another. */
  isUneven: boolean;
}

/**
 * So many answers in a row that name an older block: it is not that a node is
 * behind, the newest block is gone, by a re-org or because a development node
 * was set back. See {@link maxAttempts} for how sure that is.
 */
const LOWER_HEADS = 15;
const MORE_LOOKS = LOWER_HEADS - 1;
/** Asked for each time that a block is not there: independent of each other. */
const HEADS_AT_A_TIME = 2;
/** They only help, so that one that hangs is not waited for. */
const HEADS_TIMEOUT_MS = 2_000;
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
  if (Number.isSafeInteger(number) && number >= known.newestBlock) {
    known.newestBlock = number;
    known.lowerHeads.length = 0;
  }
}

/**
 * That block is the newest one of a node.
 *
 * @param newestBefore What was known when it was asked: answers may come in
 * another order, and then a lower one is only the older.
 */
function noteHead(
  provider: Eip1193Provider,
  number: number,
  newestBefore: number,
): void {
  noteBlock(provider, number);
  const known = acquaintanceOf(originOf(provider));
  const { newestBlock, lowerHeads } = known;
  if (number < Math.min(newestBlock, newestBefore)) {
    known.isUneven = true;
    if (lowerHeads.push(number) >= LOWER_HEADS) {
      known.newestBlock = Math.max(...lowerHeads);
      // No node is behind, then: all have gone back.
      known.isUneven = false;
      lowerHeads.length = 0;
    }
  }
}

/** The chain was set back, so that there may be no block that was seen. */
export function forgetBlocks(provider: Eip1193Provider): void {
  const known = acquaintanceOf(originOf(provider));
  known.newestBlock = -1;
  known.lowerHeads.length = 0;
}

/** Whether there are several nodes behind this provider, blocks apart. */
export function isUneven(provider: Eip1193Provider): boolean {
  return acquaintanceOf(originOf(provider)).isUneven;
}

/**
 * The highest of a first answer and of as many more as it takes to meet each
 * node: what only ever rises is newest there. See {@link maxAttempts} for how
 * sure that is.
 */
export async function highest(
  first: number,
  ask: () => Promise<number>,
): Promise<number> {
  return Math.max(
    first,
    ...(await Promise.all(Array.from({ length: MORE_LOOKS }, ask))),
  );
}

/**
 * The same provider for one operation: requests that only read are made again
 * where that may help, until the deadline, and only so many at a time. What is
 * patient already stays as it is, so that the outermost deadline holds.
 */
export function patient(
  provider: Eip1193Provider,
  network: string,
  { timeout, repeatFor, onRetry }: Patience = {},
): Eip1193Provider {
  if (patients.has(provider)) {
    return provider;
  }
  let repeats: Deadline | undefined;
  return calm({
    provider,
    network,
    known: acquaintanceOf(provider),
    deadline: timeout === undefined ? undefined : new Deadline(timeout),
    isRepeated: () => {
      repeats ??= new Deadline(repeatFor ?? Infinity);
      return repeats.isOver;
    },
    attempts: maxAttempts,
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
    throw vaultError("VAULT_RPC_TIMEOUT", { network, method });
  }
  return done.value;
}

/**
 * A patient provider for a request that is heavy, or asked for in another way if
 * it fails: what may be over is tried once more, since it may also be the size,
 * and a block that is not there is not waited for until all nodes should have it.
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
  /** Whether requests were made again long enough, from the first failure on. */
  readonly isRepeated: () => boolean;
  readonly attempts: Attempts;
}

/** What a request came to; how it ends where it is not made again. */
type Outcome = { readonly answer: unknown } | { readonly error: unknown };

/** What went wrong and may be over, on its way through the library. */
class PassingFault extends Error {
  constructor(
    public readonly fault: Fault,
    public readonly outcome: Outcome,
  ) {
    super();
  }
}

async function askPatiently(
  args: RequestArguments,
  asking: Asking,
  deadline: Deadline,
): Promise<unknown> {
  const { network, isRepeated, attempts, onRetry } = asking;
  const { method } = args;
  const isWorthIt = (error: Error, attempt: number): error is PassingFault =>
    error instanceof PassingFault &&
    attempt < attempts[error.fault.kind] &&
    !deadline.isOver &&
    !isRepeated();
  let outcome: Outcome;
  // Says more than that the time is over.
  let latest: Outcome | undefined;
  try {
    outcome = await pRetry(
      async () => await askOnce(args, asking, deadline, latest),
      {
        retries: Math.max(...Object.values(maxAttempts)),
        minTimeout: FIRST_WAIT_MS,
        maxTimeout: LONGEST_WAIT_MS,
        randomize: true,
        maxRetryTime: deadline.remaining,
        shouldRetry: ({ error, attemptNumber }) =>
          isWorthIt(error, attemptNumber),
        onFailedAttempt: async ({ error, attemptNumber: attempt }) => {
          if (!isWorthIt(error, attempt)) {
            return;
          }
          const { kind: reason, retryAfterMs = 0 } = error.fault;
          latest = error.outcome;
          const problem =
            "error" in error.outcome
              ? toRpcError(error.outcome.error, network, method).shortMessage
              : "the block is not there yet";
          onRetry?.({ method, reason, problem, attempt });
          if (reason === "behind") {
            asking.known.isUneven = true;
            await deadline.within(askHeads(asking));
          }
          await deadline.pause(Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
        },
      },
    );
  } catch (error) {
    if (!(error instanceof PassingFault)) {
      throw error;
    }
    outcome = error.outcome;
  }
  if ("error" in outcome) {
    throw outcome.error;
  }
  return outcome.answer;
}

/** @throws PassingFault where it may be worth to ask again */
async function askOnce(
  args: RequestArguments,
  asking: Asking,
  deadline: Deadline,
  latest: Outcome | undefined,
): Promise<Outcome> {
  const { network, known } = asking;
  const { method } = args;
  let outcome;
  try {
    outcome = await askUntil(args, asking, deadline);
  } catch (error) {
    const fault = faultOf(error);
    if (
      fault !== undefined &&
      (fault.kind !== "behind" || isSeen(args, known))
    ) {
      throw new PassingFault(fault, { error });
    }
    return { error };
  }
  if (outcome?.answer === null && isSeen(args, known)) {
    throw new PassingFault({ kind: "behind" }, outcome);
  }
  return (
    outcome ??
    latest ?? { error: vaultError("VAULT_RPC_TIMEOUT", { network, method }) }
  );
}

/** @returns Undefined if the deadline comes first. */
async function askUntil(
  args: RequestArguments,
  { provider, known }: Asking,
  deadline: Deadline,
): Promise<{ readonly answer: unknown } | undefined> {
  return await deadline.within(
    known.limit(async () => {
      // What waits longer than it may is not asked any more.
      if (deadline.isOver) {
        return undefined;
      }
      const newestBefore = known.newestBlock;
      const answer = await provider.request(args);
      noteAnswer(args, answer, provider, newestBefore);
      return { answer };
    }),
  );
}

/**
 * Asks the nodes how far they are. Where none of them ever has the block, it is
 * not waited for any longer.
 */
async function askHeads(asking: Asking): Promise<void> {
  const { known } = asking;
  const deadline = new Deadline(HEADS_TIMEOUT_MS);
  const askHead = async (): Promise<void> => {
    try {
      await askUntil({ method: "eth_blockNumber" }, asking, deadline);
    } catch {
      // It tells nothing, then.
    }
  };
  known.askingHeads ??= Promise.all(
    Array.from({ length: HEADS_AT_A_TIME }, askHead),
  ).then(() => {
    known.askingHeads = undefined;
  });
  await known.askingHeads;
}

/** Of the parameters, the one that names the block. */
const blockParameter: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getStorageAt: 2,
};

/** Whether a block is asked for that some node has told of. */
function isSeen(
  { method, params = [] }: RequestArguments,
  { newestBlock }: Acquaintance,
): boolean {
  const block = params[blockParameter[method] ?? 1];
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
  newestBefore: number,
): void {
  if (method === "eth_blockNumber" && isHexString(answer)) {
    noteHead(provider, Number(answer), newestBefore);
  }
  const { number: quantity } = asRecord(answer);
  if (method === "eth_getBlockByNumber" && isHexString(quantity)) {
    const [tag] = params;
    const number = Number(quantity);
    if (tag === "latest") {
      noteHead(provider, number, newestBefore);
    } else {
      // The pending block is none yet: what it tells of is the one before.
      noteBlock(provider, tag === "pending" ? number - 1 : number);
    }
  }
}

function acquaintanceOf(provider: Eip1193Provider): Acquaintance {
  const known = acquaintances.get(provider) ?? {
    limit: pLimit(MAX_CONCURRENCY),
    newestBlock: -1,
    lowerHeads: [],
    askingHeads: undefined,
    isUneven: false,
  };
  acquaintances.set(provider, known);
  return known;
}

import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import { keysOf, readFaultKinds } from "./faulty-rpc-server.js";
import type {
  FaultKind,
  FaultyRpcServer,
  RequestKey,
} from "./faulty-rpc-server.js";
import { isFull, seed } from "./sample.js";

/**
 * How long Hardhat waits for an answer, longer than a busy machine takes; and how long if
 * the fault is a late answer, and how long that takes.
 */
export const REQUEST_TIMEOUT_MS = { patient: 60_000, hasty: 2_000 } as const;
export const LATE_MS = 2_200;
/**
 * Of an operation whose node asks for more patience than a test has: twice as
 * long, and so on, where a slow machine did not get to the fault by then.
 */
const SHORT_MS = isFull ? 1_500 : 300;
const LONGEST_MS = 30_000;

/**
 * The errors that a read may end with after a fault, unless there is another way
 * to the same value. After all other faults, it is retried, and right.
 */
const outcomes: Readonly<Partial<Record<FaultKind, readonly string[]>>> = {
  // Hardhat waits a second by itself, or we as long as we are told to.
  "429 without Retry-After": ["VAULT_RPC_TIMEOUT", "VAULT_NETWORK_UNREACHABLE"],
  "429 with a long Retry-After": [
    "VAULT_RPC_TIMEOUT",
    "VAULT_NETWORK_UNREACHABLE",
  ],
  "delay past the timeout": ["VAULT_RPC_TIMEOUT"],
  // Retried only if the block was there before.
  "header not found": ["VAULT_RPC_ERROR"],
  "JSON-RPC refusal": ["VAULT_RPC_ERROR"],
  "no result": ["VAULT_RPC_INVALID_RESPONSE", "VAULT_BLOCK_NOT_FOUND"],
  "huge answer": ["VAULT_RPC_INVALID_RESPONSE", "VAULT_RETURN_DATA_MALFORMED"],
};

const isSlow = (kind: FaultKind): boolean =>
  kind === "429 without Retry-After" || kind === "429 with a long Retry-After";

export type Outcome = { readonly value: unknown } | { readonly code: string };

interface Learned {
  readonly right: Outcome;
  readonly requests: readonly RequestKey[];
}

const learned = new Map<string, Learned>();

/** The outcome and the requests of a read without a fault. */
async function learn(
  server: FaultyRpcServer,
  name: string,
  run: () => Promise<Outcome>,
): Promise<Learned> {
  let known = learned.get(name);
  if (known === undefined) {
    let before: Learned | undefined;
    do {
      before = known;
      await server.idle();
      server.reset();
      known = { right: await run(), requests: keysOf(server) };
      // A busy machine may have lost a request and asked again.
    } while (before?.requests.length !== known.requests.length);
    learned.set(name, known);
  }
  return known;
}

/**
 * Injects a fault into requests of a read, and adds wrong outcomes to `failures`.
 *
 * @param run Gets a timeout if it should not wait as long as the node asks for, and for
 * which answers Hardhat should wait.
 * @returns How many requests got the fault.
 */
export async function tryFault(
  server: FaultyRpcServer,
  name: string,
  kind: FaultKind,
  run: (
    timeout?: number,
    patience?: keyof typeof REQUEST_TIMEOUT_MS,
  ) => Promise<Outcome>,
  failures: string[],
): Promise<number> {
  const { right, requests } = await learn(server, name, run);
  const some = (seed + readFaultKinds.indexOf(kind)) % requests.length;
  const keys = isFull ? atMost(requests, 24) : requests.slice(some, some + 1);
  if (keys.length === 0) {
    failures.push(`${name}: nothing was asked`);
  }
  for (const key of keys) {
    let outcome: Outcome;
    let isMissed: boolean;
    let timeout = SHORT_MS;
    do {
      await server.idle();
      server.reset();
      server.inject({ ...key, kind });
      outcome = await run(
        isSlow(kind) ? timeout : undefined,
        kind === "delay past the timeout" ? "hasty" : "patient",
      );
      await server.idle();
      isMissed = server.unused.length > 0;
      timeout *= 2;
    } while (
      isMissed &&
      isSlow(kind) &&
      "code" in outcome &&
      outcome.code === "VAULT_RPC_TIMEOUT" &&
      timeout <= LONGEST_MS
    );
    const expected = outcomes[kind];
    const isAllowed =
      ("value" in outcome && inspect(outcome) === inspect(right)) ||
      ("code" in outcome && expected?.includes(outcome.code) === true) ||
      // Public endpoints refuse it, too: no account is known then.
      (key.method === "eth_accounts" &&
        "code" in outcome &&
        outcome.code === "VAULT_NO_SENDER");
    const problem = isMissed
      ? "the fault did not happen"
      : !isAllowed
        ? inspect(outcome)
        : expected === undefined &&
            // Hardhat's provider has one request a connection, and looks at no id.
            kind !== "wrong id" &&
            // Sent again whole, or as two halves of a chunk of orders.
            server.requests.length <= requests.length
          ? "it was not asked again"
          : undefined;
    if (problem !== undefined) {
      failures.push(`${name}, ${kind} at ${inspect(key)}: ${problem}`);
    }
  }
  return keys.length;
}

/** So many at equal distances: a fork has hundreds that are alike. */
function atMost(
  requests: readonly RequestKey[],
  count: number,
): readonly RequestKey[] {
  const step = Math.max(1, requests.length / count);
  return requests.filter(
    (_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step),
  );
}

export function report(
  what: string,
  cases: number,
  failures: readonly string[],
): void {
  process.stdout.write(
    `    ${what} × faults: ${cases} cases, ${failures.length} wrong\n`,
  );
  expect(failures.join("\n")).to.equal("");
  expect(cases).to.be.at.least(10);
}

function inspect(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint"
      ? `${inner}n`
      : VaultError.isVaultError(inner)
        ? inner.code
        : inner,
  ).slice(0, 5_000);
}

import { isDeepStrictEqual } from "node:util";

import { expect } from "chai";
import fc from "fast-check";
import pLimit from "p-limit";

import { VaultClient, VaultError } from "../../src/client/index.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { StatusError, hardhatError } from "../helpers/foreign-errors.js";
import { isFull } from "../helpers/sample.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";

/** The same in every run; `SEED_ANSWERS=<number>` makes others. */
const seed = Number(process.env["SEED_ANSWERS"] ?? 1);
const RUNS = isFull ? 20_000 : 400;
const CONCURRENCY = 100;
const TIMEOUT_MS = 150;
/** By the test's clock, after which a work has ended whose deadline is over. */
const MOST_MS = 1_000;

const codes = [
  ...[3, 1, 27, 30, 429, 403, 503, 4444, -1, 0],
  ...[-32_000, -32_001, -32_002, -32_003, -32_005, -32_011, -32_014, -32_015],
  ...[-32_016, -32_046, -32_429, -32_503, -32_600, -32_601, -32_602, -32_603],
  ...[-32_700, "SERVER_ERROR", undefined],
];
const texts = [
  ...["execution reverted", "execution reverted: round is closed"],
  ...["VM Exception while processing transaction: revert no", "out of gas"],
  ...["header not found", "missing trie node 0c (path )", "EOF", "no", ""],
  ...["Internal error", "rate limit exceeded", "daily request count exceeded"],
  ...["context deadline exceeded", "block #7 not found", "gas limit too high"],
  ...["already known", "nonce too low", "txpool is full", "\u001b[31mno\u0007"],
];
const data = [
  ...[undefined, "0x", "0x08c379a0", "revert", "Reverted 0x12345678"],
  ...["08c379a0", "Bad instruction fe", { rate: 1 }],
];
const statuses = [200, 200, 200, 400, 401, 403, 404, 408, 413, 425, 429];
const results = [
  ...[null, undefined, "0x", "0x12", "abc", [], {}, 7, "0x08c379a0"],
  `0x08c379a0${"0".repeat(62)}20${"0".repeat(63)}1${"61".padEnd(64, "0")}`,
  `0x4e487b71${"11".padStart(64, "0")}`,
];

/** What a user does, by the methods that it needs. */
const stages = {
  read: async (vault: VaultClient, timeout: number) =>
    await vault.queryVolume({ timeout }),
  pinned: async (vault: VaultClient, timeout: number) =>
    await vault.queryVolume({ blockTag: 5, timeout }),
  snapshot: async (vault: VaultClient, timeout: number) =>
    await vault.snapshot({ timeout }),
  orders: async (vault: VaultClient, timeout: number) =>
    await Array.fromAsync(vault.orders({ ids: [1, 2, 3], timeout })),
  send: async ({ rpc }: VaultClient, timeout: number) =>
    await rpc
      .withOptions({ timeout })
      .request("eth_sendRawTransaction", ["0x02"]),
} as const;
type Stage = keyof typeof stages;

const anyCase = fc.record({
  stage: fc.constantFrom(
    "read" as const,
    "pinned" as const,
    "snapshot" as const,
    "orders" as const,
    "send" as const,
  ),
  method: fc.constantFrom("eth_call", "eth_getBlockByNumber", undefined),
  /** How many requests are answered so. */
  times: fc.constantFrom(1, 2, Infinity),
  form: fc.constantFrom("error", "body", "answer", "result"),
  code: fc.constantFrom(...codes),
  text: fc.constantFrom(...texts),
  data: fc.constantFrom(...data),
  status: fc.constantFrom(...statuses, 500, 502, 503, 504, 524),
  result: fc.constantFrom(...results),
});
type Case = typeof anyCase extends fc.Arbitrary<infer Value> ? Value : never;

/** Throws, or returns, what a provider makes of the node's answer. */
function answer({
  form,
  code,
  text,
  data: more,
  status,
  result,
}: Case): unknown {
  const error = { code, message: text, data: more };
  switch (form) {
    case "error":
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- as the client of a node that is no library may throw
      throw error;
    case "body":
      throw Object.assign(new StatusError(status), {
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, error }),
      });
    case "answer":
      // What Hardhat does not take for JSON-RPC.
      throw hardhatError("HHE702", {
        messageArguments: { response: JSON.stringify({ error }) },
      });
    case "result":
      return result;
  }
}

/** A client whose node answers some requests as the case says. */
function clientOf(one: Case): {
  readonly vault: VaultClient;
  readonly sends: () => number;
} {
  const node = documentedNode({ head: 40, overrides: true });
  let [left, sends] = [one.times, 0];
  const provider = {
    request: async (args: {
      readonly method: string;
      readonly params?: readonly unknown[];
    }): Promise<unknown> => {
      const isSend = args.method === "eth_sendRawTransaction";
      sends += isSend ? 1 : 0;
      if ((isSend || (one.method ?? args.method) === args.method) && left > 0) {
        left -= 1;
        return answer(one);
      }
      return isSend ? `0x${"ab".repeat(32)}` : await node.request(args);
    },
  };
  const rpc = new RpcClient(provider, "testnet");
  return {
    vault: new VaultClient(provider, documentedContracts, { rpc }),
    sends: () => sends,
  };
}

describe("fuzz - answers of nodes", () => {
  speedUpTime();

  const honest = new Map<Stage, unknown>();

  /** What is wrong with what came of a case. */
  const problemOf = async (one: Case): Promise<string | undefined> => {
    const { vault, sends } = clientOf(one);
    const begin = performance.now();
    let problem: string | undefined;
    try {
      const value = await stages[one.stage](vault, TIMEOUT_MS);
      problem =
        one.stage === "send" || isHonest(value, honest.get(one.stage))
          ? undefined
          : "a value that is not the chain's";
    } catch (error) {
      problem =
        VaultError.isVaultError(error) &&
        (error.kind === "rpc" || error.kind === "chain")
          ? undefined
          : `unclassified: ${String(error)}`;
    }
    return (
      problem ??
      (sends() > 1 ? `${sends()} sends` : undefined) ??
      (performance.now() - begin > MOST_MS ? "the deadline" : undefined)
    );
  };

  it(`answers make no wrong value, no unclassified error and no second send, ${RUNS} times`, async () => {
    const none = { ...fc.sample(anyCase, 1)[0], times: 0 };
    for (const stage of ["read", "pinned", "snapshot", "orders"] as const) {
      // every key is there
      const { vault } = clientOf(none as unknown as Case);
      honest.set(stage, await stages[stage](vault, MOST_MS));
    }
    const failures: string[] = [];
    await pLimit(CONCURRENCY).map(
      fc.sample(anyCase, { seed, numRuns: RUNS }),
      async (one) => {
        const problem = await problemOf(one);
        if (problem !== undefined) {
          failures.push(`${problem}: ${JSON.stringify(one)}`);
        }
      },
    );
    expect(
      failures.slice(0, 5).join("\n"),
      `${failures.length} wrong (seed ${seed})`,
    ).to.equal("");
  });
});

/** A reading may be an error in place of its value, never another value. */
function isHonest(value: unknown, expected: unknown): boolean {
  if (isDeepStrictEqual(value, expected)) {
    return true;
  }
  if (typeof value !== "object" || value === null) {
    return false;
  }
  if ("error" in value) {
    return VaultError.isVaultError(value.error);
  }
  const fields = Object.entries(value);
  return (
    typeof expected === "object" &&
    expected !== null &&
    fields.length === Object.keys(expected).length &&
    fields.every(([name, inner]) =>
      isHonest(inner, Reflect.get(expected, name)),
    )
  );
}

import { isDeepStrictEqual } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import { VaultClient, VaultError } from "../../src/client/index.js";
import { keysOf } from "../../src/protocol/index.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { StatusError, hardhatError } from "../helpers/foreign-errors.js";
import { HASH } from "../helpers/names.js";
import { isFull, seed } from "../helpers/sample.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";

const RUNS = isFull ? 20_000 : 400;
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
  stage: fc.constantFrom(...keysOf(stages)),
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

/** A node that answers some requests as the case says, and counts what it is sent. */
class OddNode {
  public sends = 0;
  readonly #node = documentedNode({ head: 40, overrides: true });
  #answered = 0;

  constructor(private readonly one?: Case) {}

  public async request(args: {
    readonly method: string;
    readonly params?: readonly unknown[];
  }): Promise<unknown> {
    const isSend = args.method === "eth_sendRawTransaction";
    this.sends += isSend ? 1 : 0;
    const { one } = this;
    const isChosen = isSend || (one?.method ?? args.method) === args.method;
    if (one !== undefined && isChosen && this.#answered < one.times) {
      this.#answered += 1;
      return answer(one);
    }
    return isSend ? HASH : await this.#node.request(args);
  }
}

describe("fuzz - answers of nodes", () => {
  speedUpTime();

  const honest = new Map<Stage, unknown>();

  const ask = async (stage: Stage, node: OddNode): Promise<unknown> => {
    const rpc = new RpcClient(node, "testnet");
    const vault = new VaultClient(node, documentedContracts, { rpc });
    return await stages[stage](vault, TIMEOUT_MS);
  };

  /** What is wrong with what came of a case. */
  const problemOf = async (one: Case): Promise<string | undefined> => {
    const node = new OddNode(one);
    const begin = performance.now();
    try {
      const value = await ask(one.stage, node);
      if (one.stage !== "send" && !isHonest(value, honest.get(one.stage))) {
        return "a value that is not the chain's";
      }
    } catch (error) {
      if (
        !VaultError.isVaultError(error) ||
        (error.kind !== "rpc" && error.kind !== "chain")
      ) {
        return `unclassified: ${String(error)}`;
      }
    }
    const isLate = performance.now() - begin > MOST_MS;
    return node.sends > 1 ? `${node.sends} sends` : isLate ? "late" : undefined;
  };

  it(`answers make no wrong value, no unclassified error and no second send, ${RUNS} times`, async () => {
    for (const stage of keysOf(stages)) {
      honest.set(stage, await ask(stage, new OddNode()));
    }
    await fc.assert(
      fc.asyncProperty(anyCase, async (one) => {
        expect(await problemOf(one)).to.equal(undefined);
      }),
      { seed, numRuns: RUNS },
    );
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

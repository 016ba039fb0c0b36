import { execFile } from "node:child_process";
import { mock } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider, RetryEvent } from "../../src/client/index.js";
import { getBlock } from "../../src/rpc/blocks.js";
import { fewRetries, noRetries } from "../../src/rpc/retry.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { WORD, clientOf, failing } from "../helpers/failing-client.js";
import { StatusError, codedError } from "../helpers/foreign-errors.js";
import { VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const HASH = `0x${"ab".repeat(32)}`;

const hangs = async (): Promise<never> => await new Promise(() => undefined);

const rpcOf = (request: Eip1193Provider["request"]): RpcClient =>
  new RpcClient({ request }, "testnet");

/** A client whose node answers, in turn, what these return or throw; then the last. */
function answeringInTurn(...answers: ReadonlyArray<() => unknown>): {
  readonly rpc: RpcClient;
  readonly asked: () => number;
} {
  let asked = 0;
  const rpc = rpcOf(async () => {
    asked += 1;
    return await Promise.resolve(answers[asked - 1] ?? answers.at(-1)).then(
      (answer) => answer?.(),
    );
  });
  return { rpc, asked: () => asked };
}

const limitsRate = (): never => {
  throw new StatusError(429);
};

describe("the options of a group of requests", () => {
  speedUpTime();

  /** Milliseconds of the test's clock until the work has failed. */
  async function timeUntilFailed(work: Promise<unknown>): Promise<number> {
    const startedAt = performance.now();
    await work.catch(() => undefined);
    return performance.now() - startedAt;
  }

  it("call both functions if an operation and a read in it have an onRetry", async () => {
    const told: string[] = [];
    const { rpc } = answeringInTurn(limitsRate, () => "0x1");
    await rpc
      .withOptions({ onRetry: () => told.push("outer") })
      .withOptions({ onRetry: () => told.push("inner") })
      .request("eth_chainId");
    expect(told).to.deep.equal(["outer", "inner"]);
  });

  it("have the standard time only if no time was given", async () => {
    const rpc = rpcOf(hangs);
    const timeOf = async (one: RpcClient): Promise<number> =>
      await timeUntilFailed(one.request("eth_chainId"));
    expect(await timeOf(rpc.withOptions({}, 50))).to.be.below(1_000);
    const given = rpc.withOptions({ timeout: 3_000 });
    expect(await timeOf(given.withOptions({}, 50))).to.be.above(2_900);
    const longer = rpc.withOptions({ timeout: 3_000 }, 50);
    expect(await timeOf(longer)).to.be.above(2_900);
  });

  it("stay when the retries change, and the retries when the options change", async () => {
    const hanging = rpcOf(hangs)
      .withOptions({ timeout: 50 })
      .withRetries(noRetries);
    const time = await timeUntilFailed(hanging.request("eth_chainId"));
    expect(time).to.be.below(1_000);
    const { rpc, asked } = answeringInTurn(limitsRate);
    const once = rpc.withRetries(noRetries).withOptions({ timeout: 9_000 });
    await timeUntilFailed(once.request("eth_chainId"));
    expect(asked()).to.equal(1);
  });

  it("end a wait that the node requests: at the deadline, and when the signal is aborted", async () => {
    const { rpc } = answeringInTurn(() => {
      throw new StatusError(429, { "retry-after": "9" });
    });
    const timed = rpc.withOptions({ timeout: 50 }).request("eth_chainId");
    expect(await timeUntilFailed(timed)).to.be.below(1_000);
    const stop = new AbortController();
    const aborted = rpc
      .withOptions({ signal: stop.signal, onRetry: () => stop.abort("enough") })
      .request("eth_chainId");
    expect(await timeUntilFailed(aborted)).to.be.below(1_000);
  });

  it("throw the failure of an earlier attempt, not a time-out, if the deadline ends a later one", async () => {
    const { rpc } = answeringInTurn(limitsRate, hangs);
    const { message } = await expectVaultError(
      rpc.withOptions({ timeout: 2_000 }).request("eth_chainId"),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.contain("HTTP status 429 (tried 2 times in 2 s)");
  });

  it("throw VAULT_RPC_TIMEOUT at the deadline if an earlier request failed by itself", async () => {
    const failures = Array.from({ length: 6 }, () => () => {
      throw new StatusError(503);
    });
    const answers = answeringInTurn(...failures, hangs);
    const rpc = answers.rpc.withOptions({ timeout: 20_000 });
    await expectVaultError(
      rpc.request("eth_chainId"),
      "VAULT_NETWORK_UNREACHABLE",
    );
    await expectVaultError(rpc.request("eth_chainId"), "VAULT_RPC_TIMEOUT");
  });

  it("leave out a request that waited for its turn until the deadline", async () => {
    const answers: Array<() => void> = [];
    const rpc = rpcOf(
      async () =>
        await new Promise((resolve) => answers.push(() => resolve("0x1"))),
    );
    const underWay = Array.from(
      { length: 16 },
      async () => await rpc.request("eth_chainId"),
    );
    await expectVaultError(
      rpc.withOptions({ timeout: 50 }).request("eth_chainId"),
      "VAULT_RPC_TIMEOUT",
    );
    for (const answer of answers) {
      answer();
    }
    await Promise.all(underWay);
    await nextTurn();
    expect(answers).to.have.lengthOf(16);
  });

  it("give their places to other requests when the deadline is over, though the node still holds theirs", async () => {
    const rpc = rpcOf(
      async ({ method }) =>
        await (method === "eth_call" ? hangs() : Promise.resolve("0x1")),
    );
    const scan = rpc.withOptions({ timeout: 50 });
    const hanging = Array.from({ length: 16 }, async () => {
      await expectVaultError(
        scan.request("eth_call", [{}, "latest"]),
        "VAULT_RPC_TIMEOUT",
      );
    });
    expect(await rpc.request("eth_chainId")).to.equal("0x1");
    await Promise.all(hanging);
  });

  it("let a transaction out at once, though 16 reads are under way", async () => {
    const sent: string[] = [];
    const rpc = rpcOf(async ({ method }) => {
      sent.push(method);
      return await (method === "eth_call" ? hangs() : HASH);
    });
    for (let count = 0; count < 20; count += 1) {
      rpc.request("eth_call", [{}, "latest"]).catch(() => undefined);
    }
    rpc.request("eth_sendRawTransaction", ["0x02"]).catch(() => undefined);
    await nextTurn();
    expect(sent).to.have.lengthOf(17).and.include("eth_sendRawTransaction");
  });

  it("wait past the deadline for the answer to a transaction", async () => {
    const rpc = rpcOf(
      async () =>
        await new Promise((resolve) => setTimeout(() => resolve(HASH), 2_000)),
    );
    expect(
      await rpc
        .withOptions({ timeout: 50 })
        .request("eth_sendRawTransaction", ["0x02"]),
    ).to.equal(HASH);
  });

  it("show the node's refusal of a transaction, not the reason of a signal that was aborted meanwhile", async () => {
    const stop = new AbortController();
    const { rpc } = answeringInTurn(() => {
      stop.abort("enough");
      throw Object.assign(new Error("nonce too low"), { code: -32_000 });
    });
    const { message } = await expectVaultError(
      rpc.withOptions(stop).request("eth_sendRawTransaction", ["0x02"]),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.contain("nonce too low");
  });

  it("end other work with the reason of an aborted signal", async () => {
    const stop = new AbortController();
    const work = rpcOf(hangs)
      .withOptions(stop)
      .withinDeadline("a fork", hangs());
    stop.abort("enough");
    const [end] = await Promise.allSettled([work]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });

  it("wait about twice as long before each attempt, two seconds at most, and tell the whole time", async () => {
    const random = mock.method(Math, "random", () => 0);
    const { rpc, asked } = answeringInTurn(limitsRate);
    const times: number[] = [];
    const { message } = await expectVaultError(
      rpc
        .withOptions({ onRetry: () => times.push(performance.now()) })
        .request("eth_chainId"),
      "VAULT_NETWORK_UNREACHABLE",
    );
    random.mock.restore();
    const waits = times
      .slice(1)
      .map((time, index) => time - Number(times[index]));
    const growing = [50, 100, 200, 400, 800, 1_600];
    const expected = waits.map((_, index) => growing[index] ?? 2_000);
    // The test's clock makes steps.
    expect(
      waits.map((wait, index) => Math.abs(wait - Number(expected[index])) < 40),
    ).to.deep.equal(expected.map(() => true));
    expect(message).to.match(/\(tried 15 times in (?:19|20) s\)/u);
    expect(asked()).to.equal(15);
  });
});

describe("a client with a deadline or a signal", () => {
  speedUpTime();

  it("throws VAULT_RPC_TIMEOUT with the name of other work that the deadline ends", async () => {
    const rpcWith = (timeout: number | undefined): RpcClient =>
      new RpcClient(new ScriptedNode(), "testnet").withOptions({ timeout });
    const { details } = await expectVaultError(
      rpcWith(1).withinDeadline("a fork", new Promise(() => undefined)),
      "VAULT_RPC_TIMEOUT",
    );
    expect(details).to.deep.equal({
      network: "testnet",
      method: "a fork",
    });
    for (const timeout of [undefined, 1_000]) {
      for (const value of [7, undefined]) {
        const work = rpcWith(timeout).withinDeadline(
          "it",
          Promise.resolve(value),
        );
        expect(await work).to.equal(value);
      }
    }
  });

  it("throws the reason of an aborted signal, while a request is under way and between two", async () => {
    const hanging = clientOf(async () => await new Promise(() => undefined));
    const limited = failing(Infinity, new StatusError(429)).client;
    for (const [client, timeout] of [
      [hanging, undefined],
      [limited, 9_000],
    ] as const) {
      const stop = new AbortController();
      const { signal } = stop;
      const reads = [
        client.queryVolume({ signal, timeout }),
        client.snapshot({ signal, timeout }),
        client.rounds({ signal, timeout }).next(),
      ];
      setTimeout(() => {
        stop.abort("enough");
      }, 60);
      for (const { status, ...end } of await Promise.allSettled(reads)) {
        expect(status).to.equal("rejected");
        expect(end).to.deep.equal({ reason: "enough" });
      }
    }
  });

  it("asks for nothing if the signal is aborted already", async () => {
    const { client, asked } = failing(0, undefined);
    const signal = AbortSignal.abort("enough");
    const read: unknown = await client
      .queryVolume({ signal })
      .catch((error: unknown) => error);
    expect([read, asked()]).to.deep.equal(["enough", 0]);
  });

  it("throws VAULT_RPC_TIMEOUT at one deadline for all that a scan asks", async () => {
    // Each answer comes at once, and there is no end of them.
    const node = new ScriptedNode({
      overrides: false,
      answerOf: () => ({ reverted: true, data: "0x" }),
    });
    const scan = new VaultClient(node, { trading: VAULT }).orders({
      firstId: 0,
      lastId: 10n ** 12n,
      timeout: 150,
    });
    await expectVaultError(Array.fromAsync(scan), "VAULT_RPC_TIMEOUT");
  });
});

describe("a provider that never answers, and holds no connection", () => {
  it("keeps the process until the deadline, which then throws VAULT_RPC_TIMEOUT", async () => {
    const script = `
      const { VaultClient } = await import(${JSON.stringify(import.meta.resolve("../../src/client/index.js"))});
      const provider = { request: () => new Promise(() => {}) };
      const vault = new VaultClient(provider, { vault: "${VAULT}" });
      await vault.queryVolume({ timeout: 300 }).catch(({ code }) => console.log(code));`;
    const options = ["--import", "tsx", "--input-type=module", "--eval"];
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...options,
      script,
    ]);
    expect(stdout).to.equal("VAULT_RPC_TIMEOUT\n");
  });
});

describe("a request without a deadline of its group", () => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  // A mock of Node.js would keep what it returned.
  before(() => {
    AbortSignal.timeout = () => timeout(500);
  });
  after(() => {
    AbortSignal.timeout = timeout;
  });

  // Node.js 22 forgets a deadline that only AbortSignal.any() refers to, once the code
  // is compiled. Node.js 24 does not.
  it("ends with VAULT_RPC_TIMEOUT though memory is collected meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    // the function that the flag adds
    const collect = runInNewContext("gc") as () => void;
    let isHanging = false;
    const request = async (): Promise<unknown> =>
      await (isHanging ? new Promise(() => undefined) : Promise.resolve("0x1"));
    const rpc = new RpcClient({ request }, "testnet").withOptions(
      new AbortController(),
    );
    for (let warm = 0; warm < 10_000; warm += 1) {
      await rpc.request("eth_chainId");
    }
    isHanging = true;
    const ended = expectVaultError(
      rpc.request("eth_chainId"),
      "VAULT_RPC_TIMEOUT",
    );
    for (let turn = 0; turn < 5; turn += 1) {
      await nextTurn();
      collect();
    }
    await ended;
  });
});

const header = {
  number: "0xa",
  timestamp: "0x1",
  hash: WORD,
  gasLimit: "0x1",
};

const behindError = (): Error =>
  Object.assign(new Error("header not found"), { code: -32000 });

/** How often a call at a block reaches a node that lacks it. */
async function timesAsked(
  { tag, number }: { readonly tag: string; readonly number: unknown },
  block: unknown,
  change = (rpc: RpcClient) => rpc,
): Promise<number> {
  let asked = 0;
  const rpc = change(
    new RpcClient(
      {
        request: async ({ method }) => {
          if (method === "eth_call") {
            asked += 1;
            throw behindError();
          }
          return await Promise.resolve({ ...header, number });
        },
      },
      "testnet",
    ),
  );
  await getBlock(rpc, tag).catch(() => undefined);
  await rpc.request("eth_call", [{}, block]).catch(() => undefined);
  return asked;
}

describe("a client that retries requests", () => {
  speedUpTime();

  for (const [why, failure, times] of [
    ["fails in passing", codedError("ECONNRESET"), 3],
    ["limits the rate", new StatusError(429), 3],
    ["has waited too long for the request", new StatusError(408), 3],
    ["does not want the request so early", new StatusError(425), 3],
    ["does not have the address", new StatusError(404), 1],
    ["refuses the connection", codedError("ECONNREFUSED"), 1],
  ] as const) {
    it(`requests a value ${times} times if the node ${why}`, async () => {
      const { client, asked } = failing(2, failure);
      const value: unknown = await client
        .queryVolume()
        .catch((error: unknown) => error);
      expect(asked()).to.equal(times);
      expect(value === 7n).to.equal(times === 3);
    });
  }

  it("throws VAULT_NETWORK_UNREACHABLE after six attempts", async () => {
    const { client, asked } = failing(Infinity, new StatusError(503));
    const told: number[] = [];
    const { message } = await expectVaultError(
      client.queryVolume({ onRetry: ({ attempt }) => told.push(attempt) }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.match(/503.* \(tried 6 times in \d+ s\)/u);
    expect(asked()).to.equal(6);
    // The last one is not made again.
    expect(told).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it("answers if a node fails once after it limited the rate five times", async () => {
    let asked = 0;
    const client = clientOf(async () => {
      asked += 1;
      if (asked <= 6) {
        throw new StatusError(asked === 6 ? 502 : 429);
      }
      return await Promise.resolve(WORD);
    });
    expect(await client.queryVolume()).to.equal(7n);
    expect(asked).to.equal(7);
  });

  it("throws the sixth transient failure, however often the node limited the rate between", async () => {
    let asked = 0;
    const client = clientOf(() => {
      asked += 1;
      throw new StatusError(asked % 2 === 0 ? 502 : 429);
    });
    const { message } = await expectVaultError(
      client.queryVolume(),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.match(/502.* \(tried 12 times in \d+ s\)/u);
    expect(asked).to.equal(12);
  });

  it("calls onRetry, and waits as long as Retry-After tells, at most ten seconds", async () => {
    const events: RetryEvent[] = [];
    const random = mock.method(Math, "random", () => 0.8);
    const waitFor = async (seconds: string): Promise<number> => {
      const { client } = failing(
        1,
        new StatusError(429, { "retry-after": seconds }),
      );
      const begin = performance.now();
      await client.queryVolume({ onRetry: (event) => events.push(event) });
      return performance.now() - begin;
    };
    // And then as long as after any failure, which is by chance.
    expect(await waitFor("1")).to.be.within(1_080, 1_130);
    expect(await waitFor("3600")).to.be.within(10_000, 10_200);
    random.mock.restore();
    expect(events[0]).to.deep.equal({
      method: "eth_call",
      reason: "rateLimited",
      problem:
        "Network of the given provider cannot be reached: the node answered HTTP status 429.",
      attempt: 1,
    });
  });

  it("ends with VAULT_RPC_TIMEOUT at the deadline, whatever is under way", async () => {
    const hanging = clientOf(async () => await new Promise(() => undefined));
    for (const read of [
      async () => await hanging.queryVolume({ timeout: 20 }),
      async () => await hanging.snapshot({ timeout: 20 }),
      async () =>
        await hanging.orders({ firstId: 1, lastId: 2, timeout: 20 }).next(),
      async () => await hanging.rounds({ timeout: 20 }).next(),
    ]) {
      const { details } = await expectVaultError(read(), "VAULT_RPC_TIMEOUT");
      expect(details).to.deep.equal({
        network: "of the given provider",
        method: details["method"],
      });
      expect(details["method"]).to.match(/^eth_/u);
    }
    await expectVaultError(
      failing(Infinity, new StatusError(429)).client.queryVolume({
        timeout: 200,
      }),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });

  it("says in the error of a snapshot what the node answered to calls until the timeout, though other requests were answered", async () => {
    const client = clientOf(async ({ method }) => {
      if (method === "eth_call") {
        throw new StatusError(429);
      }
      return await Promise.resolve({ ...header, result: "0x1" });
    });
    const { message } = await expectVaultError(
      client.snapshot({ timeout: 200 }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.match(/status 429 \(tried [2-9] times in 0 s\)/u);
  });

  it("throws VAULT_RPC_TIMEOUT after five minutes for all requests if the time-out is undefined", async () => {
    let asked = 0;
    const client = clientOf(async () => {
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve, 200_000));
      return "0x";
    });
    await expectVaultError(
      client.queryVolume({ timeout: undefined }),
      "VAULT_RPC_TIMEOUT",
    );
    expect(asked).to.equal(2);
  });

  it("refuses a time-out that no timer has with VAULT_INVALID_ARGUMENT", async () => {
    const { client, asked } = failing(0, undefined);
    for (const timeout of [0, NaN, 0.0001, 2 ** 31]) {
      const { message } = await expectVaultError(
        client.queryVolume({ timeout }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain("timeout").and.contain("milliseconds");
    }
    expect(asked()).to.equal(0);
  });

  it("repeats each request that only reads", async () => {
    for (const method of [
      ...["eth_accounts", "eth_blockNumber", "eth_call", "eth_chainId"],
      ...["eth_estimateGas", "eth_feeHistory", "eth_gasPrice", "eth_getCode"],
      ...["eth_maxPriorityFeePerGas", "eth_simulateV1", "net_version"],
      ...["debug_traceCall", "debug_traceTransaction", "anvil_nodeInfo"],
      ...["hardhat_metadata", "web3_clientVersion"],
    ]) {
      const { client, asked } = failing(1, codedError("ECONNRESET"));
      await client.rpc.request(method);
      expect(asked(), method).to.equal(2);
    }
  });

  it("does not repeat a request that sends or signs, or one that it does not know", async () => {
    for (const method of [
      ...["eth_sendRawTransaction", "eth_sendTransaction", "evm_mine"],
      ...["eth_signTransaction", "hardhat_setCode", "personal_sign"],
      ...["eth_callBundle", "eth_sendRawTransactionSync", "my_eth_call"],
    ]) {
      let asked = 0;
      const request = (): never => {
        asked += 1;
        throw codedError("ECONNRESET");
      };
      const rpc = new RpcClient({ request }, "testnet");
      await expectVaultError(rpc.request(method), "VAULT_NETWORK_UNREACHABLE");
      expect(asked, method).to.equal(1);
    }
  });

  it("makes at most 16 requests at a time", async () => {
    let [underWay, most] = [0, 0];
    const client = clientOf(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return WORD;
    });
    await Promise.all(
      Array.from({ length: 200 }, async () => await client.queryVolume()),
    );
    expect(most).to.equal(16);
  });

  it("asks again if another node has the block already", async () => {
    let behind = 2;
    const client = clientOf(async ({ method, params }) => {
      if (method === "eth_getBlockByNumber") {
        return await Promise.resolve(
          params?.[0] === "latest" || behind-- <= 0 ? header : null,
        );
      }
      if (behind-- > 0) {
        throw behindError();
      }
      return WORD;
    });
    const { number } = await client.block();
    expect(await client.queryVolume({ blockTag: number })).to.equal(7n);
    behind = 2;
    expect(await client.block(number)).to.include({ number });
    // Nobody has told of that one.
    behind = 1;
    await expectVaultError(
      client.queryVolume({ blockTag: number + 1 }),
      "VAULT_RPC_ERROR",
    );
    behind = 1;
    await expectVaultError(client.block(number + 1), "VAULT_BLOCK_NOT_FOUND");
  });

  const head = (number: number, tag = "latest") => ({
    tag,
    number: `0x${number.toString(16)}`,
  });
  for (const [told, block, times, why] of [
    [head(5), "0x5", 6, "the newest block, by its tag"],
    [head(5, "0x5"), "0x5", 6, "a block by its number"],
    [head(6, "pending"), "0x5", 6, "the block before the pending one"],
    [head(6, "pending"), "0x6", 1, "a block that is only pending"],
    [head(5), "0x6", 1, "a block that no node named"],
    [{ tag: "latest", number: null }, "0x5", 1, "a block without a number"],
    [head(1_000), "0x369", 6, "a block 127 behind"],
    [head(1_000), "0x368", 1, "a block 128 behind, which few nodes keep"],
    [head(2 ** 60), "0x5", 1, "a head that is no safe number"],
    [head(5), 5, 1, "a block that is not named in hex"],
  ] as const) {
    it(`asks ${times} times if a node lacks ${why}`, async () => {
      expect(await timesAsked(told, block)).to.equal(times);
    });
  }

  it("asks 6 times at the newest block though an older one was read last", async () => {
    let asked = 0;
    const rpc = new RpcClient(
      {
        request: async ({ method, params }) => {
          if (method === "eth_call") {
            asked += 1;
            throw behindError();
          }
          return await Promise.resolve({ ...header, number: params?.[0] });
        },
      },
      "testnet",
    );
    await getBlock(rpc, 10);
    await getBlock(rpc, 5);
    await rpc.request("eth_call", [{}, "0xa"]).catch(() => undefined);
    expect(asked).to.equal(6);
  });

  for (const [times, method, params, why] of [
    [6, "eth_call", [{}, "0xa"], "it may lack the block"],
    [1, "eth_call", [{}, "0xa", {}], "it may refuse the overrides"],
    [1, "eth_simulateV1", [{}, "0xa"], "it may refuse to simulate"],
  ] as const) {
    it(`asks ${times} times if a node refuses ${method} with ${params.length} parameters at a known block: ${why}`, async () => {
      const { client, asked } = failing(Infinity, {
        code: -32_000,
        message: "no",
      });
      client.rpc.node.blocks.note(10);
      await client.rpc.request(method, params).catch(() => undefined);
      expect(asked()).to.equal(times);
    });
  }

  it("waits as long as Retry-After tells before it asks again for a block that a node lacks", async () => {
    const body = { error: { code: -32_000, message: "header not found" } };
    const headers = { "retry-after": "7" };
    const { client } = failing(
      1,
      Object.assign(new StatusError(404, headers), { body }),
    );
    client.rpc.node.blocks.note(10);
    const startedAt = performance.now();
    await client.rpc.request("eth_call", [{}, "0xa"]);
    expect(performance.now() - startedAt).to.be.within(7_000, 8_000);
  });

  it("asks 3 times if a node lacks the block of a heavy request", async () => {
    expect(
      await timesAsked(head(5), "0x5", (rpc) => rpc.withRetries(fewRetries)),
    ).to.equal(3);
  });
});

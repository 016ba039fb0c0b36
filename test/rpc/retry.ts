import { mock } from "node:test";

import { expect } from "chai";

import type { RetryEvent } from "../../src/client/index.js";
import { getBlock } from "../../src/rpc/blocks.js";
import { fewRetries } from "../../src/rpc/retry.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { WORD, clientOf, failing } from "../helpers/failing-client.js";
import { StatusError, codedError } from "../helpers/foreign-errors.js";

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

  it("says in the error of a snapshot what the node answered until its timeout, and how often it tried", async () => {
    const limited = failing(Infinity, {
      code: -32_005,
      message: "Too Many Requests",
    });
    const { message, details } = await expectVaultError(
      limited.client.snapshot({ timeout: 200 }),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.match(/Too Many Requests \(tried [2-9] times in 0 s\)/u);
    expect(details).to.include({ rpcCode: -32_005 });
    expect(details["attempts"]).to.be.within(2, 9);
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

  it("tells how often it tried if the last attempt is not answered in time", async () => {
    let asked = 0;
    const client = clientOf(() => {
      asked += 1;
      throw codedError(asked === 1 ? "ECONNRESET" : "ETIMEDOUT");
    });
    const { message } = await expectVaultError(
      client.queryVolume(),
      "VAULT_RPC_TIMEOUT",
    );
    expect(message).to.match(/in time \(tried 2 times in \d s\)/u);
  });

  it("asks 3 times if a node lacks the block of a heavy request", async () => {
    expect(
      await timesAsked(head(5), "0x5", (rpc) => rpc.withRetries(fewRetries)),
    ).to.equal(3);
  });
});

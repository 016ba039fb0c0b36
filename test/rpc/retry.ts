import { mock } from "node:test";

import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import type { RetryEvent } from "../../src/client/index.js";
import { Deadline } from "../../src/rpc/deadline.js";
import { fewRetries } from "../../src/rpc/retry.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { StatusError } from "../helpers/foreign-errors.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const WORD = `0x${"7".padStart(64, "0")}`;

const header = {
  number: "0xa",
  timestamp: "0x1",
  hash: WORD,
  gasLimit: "0x1",
};

/** Fails so many times, then answers. */
function failing(
  times: number,
  failure: unknown,
  answer: unknown = WORD,
): { client: VaultClient; asked: () => number } {
  let asked = 0;
  const request = async (): Promise<unknown> => {
    asked += 1;
    if (asked <= times) {
      throw failure;
    }
    return await Promise.resolve(answer);
  };
  return {
    client: new VaultClient({ request }, { vault: ADDRESS }),
    asked: () => asked,
  };
}

const coded = (code: string | number, message = "no"): Error =>
  Object.assign(new Error(message), { code });

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
            throw coded(-32000, "header not found");
          }
          return await Promise.resolve({ ...header, number });
        },
      },
      "testnet",
    ),
  );
  await rpc.getBlock(tag).catch(() => undefined);
  await rpc.request("eth_call", [{}, block]).catch(() => undefined);
  return asked;
}

describe("reads that are made again", () => {
  speedUpTime();

  for (const [name, failure, times] of [
    ["after a passing failure", coded("ECONNRESET"), 3],
    ["if the node is busy", new StatusError(429), 3],
    ["not after a final failure", coded("ECONNREFUSED"), 1],
  ] as const) {
    it(`queryVolume() is requested again ${name}`, async () => {
      const { client, asked } = failing(2, failure);
      const value: unknown = await client
        .queryVolume()
        .catch((error: unknown) => error);
      expect(asked()).to.equal(times);
      expect(value === 7n).to.equal(times === 3);
    });
  }

  it("should give up with the failure itself", async () => {
    const { client, asked } = failing(Infinity, new StatusError(503));
    const told: number[] = [];
    const { message } = await expectVaultError(
      client.queryVolume({ onRetry: ({ attempt }) => told.push(attempt) }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.contain("503");
    expect(message).to.match(/\(tried 6 times in \d+ s\)/u);
    expect(asked()).to.equal(6);
    // The last one is not made again.
    expect(told).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it("should wait as long as it is told to, and say so", async () => {
    const events: RetryEvent[] = [];
    const { client } = failing(1, new StatusError(429, { "retry-after": "1" }));
    const random = mock.method(Math, "random", () => 0.8);
    const begin = performance.now();
    await client.queryVolume({ onRetry: (event) => events.push(event) });
    random.mock.restore();
    // And then as long as after any failure, which is by chance.
    expect(performance.now() - begin).to.be.within(1_080, 1_130);
    expect(events).to.deep.equal([
      {
        method: "eth_call",
        reason: "busy",
        problem:
          "Network of the given provider cannot be reached: the node answered HTTP status 429.",
        attempt: 1,
      },
    ]);
  });

  it("should not wait for longer than ten seconds, whatever it is told", async () => {
    const { client } = failing(
      1,
      new StatusError(503, { "retry-after": "3600" }),
    );
    const begin = performance.now();
    await client.queryVolume();
    expect(performance.now() - begin).to.be.within(10_000, 10_200);
  });

  it("should leave no timer behind", async () => {
    const stopped = mock.method(globalThis, "clearTimeout");
    expect(await new Deadline(60_000).within(Promise.resolve("done"))).to.equal(
      "done",
    );
    expect(stopped.mock.callCount()).to.equal(1);
    stopped.mock.restore();
  });

  it("should end at the deadline, whatever is under way", async () => {
    const hanging = new VaultClient(
      { request: async () => await new Promise(() => undefined) },
      { vault: ADDRESS, trading: ADDRESS, vaultFactory: ADDRESS },
    );
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
        tried: "",
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

  it("a snapshot says how often it tried the request that its timeout ended", async () => {
    const busy = failing(Infinity, new StatusError(429));
    const { details } = await expectVaultError(
      busy.client.snapshot({ timeout: 200 }),
      "VAULT_RPC_TIMEOUT",
    );
    expect(details["tried"]).to.match(
      /^ \(eth_call was tried [2-9] times in 0 s\)$/u,
    );
  });

  it("should give all that a read asks five minutes where the time-out is undefined", async () => {
    let asked = 0;
    const client = new VaultClient(
      {
        request: async () => {
          asked += 1;
          await new Deadline(400_000).pause(200_000);
          return "0x";
        },
      },
      { vault: ADDRESS },
    );
    await expectVaultError(
      client.queryVolume({ timeout: undefined }),
      "VAULT_RPC_TIMEOUT",
    );
    expect(asked).to.equal(2);
  });

  for (const timeout of [0, NaN, 0.0001, 2 ** 31]) {
    it(`should refuse a time-out of ${timeout}`, async () => {
      const { client, asked } = failing(0, undefined);
      const { message } = await expectVaultError(
        client.queryVolume({ timeout }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain("timeout").and.contain("milliseconds");
      expect(asked()).to.equal(0);
    });
  }

  it("should never send anything twice", async () => {
    for (const method of [
      "eth_sendRawTransaction",
      "eth_sendTransaction",
      "eth_signTransaction",
      "evm_mine",
      "hardhat_setCode",
      "personal_sign",
    ]) {
      let asked = 0;
      const rpc = new RpcClient(
        {
          request: () => {
            asked += 1;
            throw coded("ECONNRESET");
          },
        },
        "testnet",
      );
      await expectVaultError(rpc.request(method), "VAULT_NETWORK_UNREACHABLE");
      expect(asked).to.equal(1);
    }
  });

  it("should make at most 16 requests at a time", async () => {
    let underWay = 0;
    let most = 0;
    const provider = {
      request: async (): Promise<unknown> => {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return WORD;
      },
    };
    const client = new VaultClient(provider, { vault: ADDRESS });
    await Promise.all(
      Array.from({ length: 200 }, async () => await client.queryVolume()),
    );
    expect(most).to.equal(16);
  });

  it("should ask again where another node has the block already", async () => {
    let behind = 2;
    const client = new VaultClient(
      {
        request: async ({ method, params }) => {
          if (method === "eth_getBlockByNumber") {
            return await Promise.resolve(
              params?.[0] === "latest" || behind-- <= 0 ? header : null,
            );
          }
          if (behind-- > 0) {
            throw coded(-32000, "header not found");
          }
          return WORD;
        },
      },
      { vault: ADDRESS },
    );
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
  const waits: ReadonlyArray<
    readonly [
      name: string,
      told: Parameters<typeof timesAsked>[0],
      block: unknown,
      times: number,
    ]
  > = [
    ["the newest block, told by its tag", head(5), "0x5", 6],
    ["a block told by its number", head(5, "0x5"), "0x5", 6],
    ["the block before the pending one", head(6, "pending"), "0x5", 6],
    ["a block that is only pending", head(6, "pending"), "0x6", 1],
    ["a block that nobody told of", head(5), "0x6", 1],
    ["no block", { tag: "latest", number: null }, "0x5", 1],
    ["a block 127 behind", head(1_000), "0x369", 6],
    ["a block 128 behind, which few nodes keep", head(1_000), "0x368", 1],
    ["a head that is no number", head(2 ** 60), "0x5", 1],
    ["a block that is not named as on the wire", head(5), 5, 1],
  ];
  for (const [name, told, block, times] of waits) {
    it(`should ask ${times} times where a node lacks ${name}`, async () => {
      expect(await timesAsked(told, block)).to.equal(times);
    });
  }

  it("should not wait long for a block that a heavy request needs", async () => {
    expect(
      await timesAsked(head(5), "0x5", (rpc) => rpc.withRetries(fewRetries)),
    ).to.equal(3);
  });

  it("should end other work at the deadline of its provider, by its name", async () => {
    const request = async (): Promise<unknown> => await Promise.resolve();
    const { details } = await expectVaultError(
      new RpcClient({ request }, "testnet")
        .withOptions({ timeout: 1 })
        .withinDeadline("a fork", new Promise(() => undefined)),
      "VAULT_RPC_TIMEOUT",
    );
    expect(details).to.deep.equal({
      network: "testnet",
      method: "a fork",
      tried: "",
    });
    for (const timeout of [undefined, 1_000]) {
      const rpc = new RpcClient({ request }, "testnet").withOptions({
        timeout,
      });
      for (const value of [7, undefined]) {
        expect(await rpc.withinDeadline("it", Promise.resolve(value))).to.equal(
          value,
        );
      }
    }
  });

  it("should keep the deadline of the outer operation", () => {
    const request = async (): Promise<unknown> => await Promise.resolve();
    const outer = new RpcClient({ request }, "testnet").withOptions({
      timeout: 1_000,
    });
    expect(outer.withOptions({ timeout: 9_000 })).to.equal(outer);
  });

  it("should give a scan one deadline for all that it asks", async () => {
    const node = new ScriptedNode({
      head: 1,
      overrides: false,
      codeOf: () => "0x00",
      answerOf: () => ({ reverted: true, data: "0x" }),
    });
    // Each answer comes at once, and there is no end of them.
    const client = new VaultClient(node, { trading: ADDRESS });
    const scan = client.orders({
      firstId: 0,
      lastId: 10n ** 12n,
      timeout: 150,
    });
    await expectVaultError(
      (async () => {
        for await (const order of scan) {
          expect(order).to.have.property("error");
        }
      })(),
      "VAULT_RPC_TIMEOUT",
    );
  });
});

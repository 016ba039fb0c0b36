import { once } from "node:events";
import { mock } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { expect } from "chai";

import type { RetryEvent } from "../../src/client/index.js";
import { getBlock } from "../../src/rpc/blocks.js";
import type { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { StatusError, codedError } from "../helpers/foreign-errors.js";
import { HASH } from "../helpers/names.js";
import { failing, header, recording } from "../helpers/recording-node.js";
import type { RecordingNode } from "../helpers/recording-node.js";

const hangs = async (): Promise<never> => await new Promise(() => undefined);
const limited = new StatusError(429);
const behind = Object.assign(new Error("header not found"), { code: -32000 });

/** A node that answers these in turn, then the last; a function is called. */
const inTurn = (...answers: readonly unknown[]): RecordingNode =>
  recording((_method, _params, earlier) => {
    const answer = earlier < answers.length ? answers[earlier] : answers.at(-1);
    return typeof answer === "function"
      ? Reflect.apply(answer, undefined, [])
      : answer;
  });

/** Milliseconds of the test's clock until the work has ended. */
async function timeOf(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work.catch(() => undefined);
  return performance.now() - startedAt;
}

describe("the options of a group of requests", () => {
  speedUpTime();

  it("call both functions if an operation and a read in it have an onRetry", async () => {
    const told: string[] = [];
    await inTurn(limited, "0x1")
      .rpc.withOptions({ onRetry: () => told.push("outer") })
      .withOptions({ onRetry: () => told.push("inner") })
      .request("eth_chainId");
    expect(told).to.deep.equal(["outer", "inner"]);
  });

  it("have the standard time only if no time was given, and the first deadline of two", async () => {
    const { rpc } = inTurn(hangs);
    const timed = async (one: RpcClient): Promise<number> =>
      await timeOf(one.request("eth_chainId"));
    expect(await timed(rpc.withOptions({}, 50))).to.be.below(1_000);
    const given = rpc.withOptions({ timeout: 3_000 });
    expect(await timed(given.withOptions({}, 50))).to.be.above(2_900);
    const longer = rpc.withOptions({ timeout: 3_000 }, 50);
    expect(await timed(longer)).to.be.above(2_900);
    const shorter = rpc.withOptions({ timeout: 50 });
    expect(await timed(shorter.withOptions({ timeout: 3_000 }))).to.be.below(
      1_000,
    );
  });

  it("end a wait that the node requests: at the deadline, and when the signal is aborted", async () => {
    const { rpc } = inTurn(new StatusError(429, { "retry-after": "9" }));
    const stop = new AbortController();
    for (const options of [
      { timeout: 50 },
      { signal: stop.signal, onRetry: () => stop.abort("enough") },
    ]) {
      const work = rpc.withOptions(options).request("eth_chainId");
      expect(await timeOf(work)).to.be.below(1_000);
    }
  });

  it("throw what failed, also from a later request, if the deadline ends two that fail", async () => {
    const { rpc } = recording((method) =>
      method === "eth_call" ? new StatusError(502) : new StatusError(503),
    );
    const group = rpc.withOptions({ timeout: 500 });
    const failureOf = async (method: string): Promise<string> =>
      await group.request(method).then(String, String);
    const both = [failureOf("eth_call"), failureOf("eth_chainId")];
    const first = await Promise.race(both);
    await Promise.all(both);
    for (const text of [first, await failureOf("eth_gasPrice")]) {
      expect(text).to.match(/HTTP status 50[23] \(tried/u);
    }
  });

  it("throw the failure of an earlier attempt, not a time-out, if the deadline ends a later one", async () => {
    const { message } = await expectVaultError(
      inTurn(new StatusError(503), hangs)
        .rpc.withOptions({ timeout: 2_000 })
        .request("eth_chainId"),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.contain("HTTP status 503");
  });

  it("throw VAULT_RPC_TIMEOUT at the deadline if an earlier request failed by itself", async () => {
    const failures = Array.from({ length: 6 }, () => new StatusError(503));
    const rpc = inTurn(...failures, hangs).rpc.withOptions({ timeout: 20_000 });
    await expectVaultError(
      rpc.request("eth_chainId"),
      "VAULT_NETWORK_UNREACHABLE",
    );
    await expectVaultError(rpc.request("eth_chainId"), "VAULT_RPC_TIMEOUT");
  });

  it("make 16 requests at a time, and leave out one that waited for its turn until the deadline", async () => {
    const answers: Array<() => void> = [];
    const { rpc, asked } = inTurn(
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
    expect(asked).to.have.lengthOf(16);
  });

  it("give their places to other requests when the deadline is over, though the node still holds theirs", async () => {
    const { rpc } = recording(async (method) =>
      method === "eth_call" ? await hangs() : "0x1",
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
    const { rpc, asked } = recording(async (method) =>
      method === "eth_call" ? await hangs() : HASH,
    );
    const stop = new AbortController();
    const reading = rpc.withOptions(stop);
    for (let count = 0; count < 20; count += 1) {
      reading.request("eth_call", [{}, "latest"]).catch(() => undefined);
    }
    rpc.request("eth_sendRawTransaction", ["0x02"]).catch(() => undefined);
    await nextTurn();
    expect(asked.map(({ method }) => method))
      .to.have.lengthOf(17)
      .and.include("eth_sendRawTransaction");
    // They would keep the process.
    stop.abort();
  });

  it("wait past the deadline for the answer to a transaction", async () => {
    const { rpc } = inTurn(
      async () =>
        await new Promise((resolve) => setTimeout(() => resolve(HASH), 2_000)),
    );
    const sending = rpc.withOptions({ timeout: 50 });
    expect(await sending.request("eth_sendRawTransaction", ["0x02"])).to.equal(
      HASH,
    );
  });

  it("show the node's refusal of a transaction, not the reason of a signal that was aborted meanwhile", async () => {
    const stop = new AbortController();
    const { rpc } = inTurn(() => {
      stop.abort("enough");
      return Object.assign(new Error("nonce too low"), { code: -32_000 });
    });
    const { message } = await expectVaultError(
      rpc.withOptions(stop).request("eth_sendRawTransaction", ["0x02"]),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.contain("nonce too low").and.not.contain("tried");
  });

  it("end other work: with VAULT_RPC_TIMEOUT and its name, or with the reason of an aborted signal", async () => {
    const { rpc } = inTurn("0x1");
    const { details } = await expectVaultError(
      rpc.withOptions({ timeout: 1 }).withinDeadline("a fork", hangs),
      "VAULT_RPC_TIMEOUT",
    );
    expect(details).to.deep.equal({ network: "testnet", method: "a fork" });
    const stop = new AbortController();
    const work = rpc.withOptions(stop).withinDeadline("a fork", hangs);
    stop.abort("enough");
    const [end] = await Promise.allSettled([work]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
    const done = rpc.withinDeadline("it", async () => await Promise.resolve(7));
    expect(await done).to.equal(7);
  });

  it("repeat a request at least a second after each HTTP status 429, 15 times in all, and tell how often", async () => {
    const { rpc, asked } = inTurn(limited);
    const work = rpc.withOptions({}).request("eth_chainId");
    const { message } = await expectVaultError(
      work,
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.match(/\(tried 15 times\)/u);
    expect(asked).to.have.length(15);
  });
});

describe("a client without a deadline", () => {
  it("keeps the process by one timer until a request is answered, as its provider may not", async () => {
    const begun = mock.method(globalThis, "setTimeout");
    const ended = mock.method(globalThis, "clearTimeout");
    let answer: ((result: string) => void) | undefined;
    const { rpc } = inTurn(
      async () =>
        await new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const request = rpc.request("eth_chainId");
    await nextTurn();
    const timers = begun.mock.calls.map(({ result }) => result);
    const keeping = timers.map((timer) => timer?.hasRef());
    answer?.("0x1");
    await request;
    const stopped = ended.mock.calls.map(({ arguments: [timer] }) => timer);
    begun.mock.restore();
    ended.mock.restore();
    expect(keeping).to.deep.equal([true]);
    expect(stopped).to.deep.equal(timers);
  });
});

describe("a client with a deadline or a signal", () => {
  speedUpTime();

  it("throws VAULT_RPC_TIMEOUT from each operation at its deadline if the node never answers", async () => {
    const { vault } = inTurn(hangs);
    for (const read of [
      async () => await vault.queryVolume({ timeout: 20 }),
      async () => await vault.snapshot({ timeout: 20 }),
      async () =>
        await vault.orders({ firstId: 1, lastId: 2, timeout: 20 }).next(),
      async () => await vault.rounds({ timeout: 20 }).next(),
    ]) {
      const { details } = await expectVaultError(read(), "VAULT_RPC_TIMEOUT");
      expect(details["network"]).to.equal("of the given provider");
      expect(details["method"]).to.match(/^eth_/u);
    }
  });

  it("throws the reason of an aborted signal from each operation: during a request, and between two", async () => {
    for (const [answer, timeout] of [
      [hangs, undefined],
      [limited, 9_000],
    ] as const) {
      const { vault } = inTurn(answer);
      const stop = new AbortController();
      const { signal } = stop;
      const reads = [
        vault.queryVolume({ signal, timeout }),
        vault.snapshot({ signal, timeout }),
        vault.orders({ ids: [1, 2], signal, timeout }).next(),
        vault.rounds({ signal, timeout }).next(),
      ];
      setTimeout(() => {
        stop.abort("enough");
      }, 60);
      for (const end of await Promise.allSettled(reads)) {
        expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
      }
    }
  });

  it("sends nothing if the signal is aborted already", async () => {
    const { vault, asked } = failing(0, undefined);
    const signal = AbortSignal.abort("enough");
    for (const read of [
      vault.queryVolume({ signal }),
      vault.orders({ ids: [1], signal }).next(),
      vault.rounds({ signal }).next(),
    ]) {
      const [end] = await Promise.allSettled([read]);
      expect(end).to.include({ reason: "enough" });
    }
    expect(asked).to.deep.equal([]);
  });

  it("says in the error of a snapshot what the node answered to calls until the timeout, though other requests were answered", async () => {
    const { vault } = recording((method) =>
      method === "eth_call" ? limited : { ...header, result: "0x1" },
    );
    const { message } = await expectVaultError(
      vault.snapshot({ timeout: 2_500 }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.match(/status 429 \(tried [2-9] times\)/u);
  });
});

describe("a client that retries requests", () => {
  speedUpTime();

  for (const [why, failure, times] of [
    ["fails in passing", codedError("ECONNRESET"), 3],
    ["limits the rate", limited, 3],
    ["refuses the connection", codedError("ECONNREFUSED"), 1],
  ] as const) {
    it(`requests a value ${times} times if the node ${why}`, async () => {
      const { vault, asked } = failing(2, failure);
      const [read] = await Promise.allSettled([vault.queryVolume()]);
      expect(asked).to.have.length(times);
      expect(read.status === "fulfilled").to.equal(times === 3);
    });
  }

  it("throws VAULT_NETWORK_UNREACHABLE, and tells of each attempt that it repeats, if the sixth fails in passing, too", async () => {
    const { vault, asked } = inTurn(new StatusError(503));
    const told: number[] = [];
    const { message } = await expectVaultError(
      vault.queryVolume({ onRetry: ({ attempt }) => told.push(attempt) }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.match(/503.* \(tried 6 times\)/u);
    expect(asked).to.have.length(6);
    expect(told).to.deep.equal([1, 2, 3, 4, 5]);
  });

  for (const [how, onRetry] of [
    [
      "throws",
      () => {
        throw new Error("the listener's own problem");
      },
    ],
    [
      "is async and rejects",
      async () => await Promise.reject(new Error("the listener's own problem")),
    ],
  ] as const) {
    it(`reads, and warns, if onRetry ${how}`, async () => {
      const warned = once(process, "warning");
      const { vault } = failing(1, new StatusError(503));
      await vault.queryVolume({ onRetry });
      expect(String((await warned)[0])).to.equal(
        'Warning: onRetry failed at "eth_call": Error: the listener\'s own problem',
      );
    });
  }

  it("calls onRetry, and waits as long as Retry-After tells, at most ten seconds", async () => {
    const events: RetryEvent[] = [];
    const random = mock.method(Math, "random", () => 0.8);
    const waitFor = async (seconds: string): Promise<number> => {
      const wait = new StatusError(429, { "retry-after": seconds });
      const onRetry = (event: RetryEvent): number => events.push(event);
      return await timeOf(failing(1, wait).vault.queryVolume({ onRetry }));
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

  for (const [times, what, methods] of [
    [
      2,
      "repeats a request that only reads",
      ["eth_getCode", "eth_simulateV1", "debug_traceTransaction"],
    ],
    [
      1,
      "does not repeat a request that sends or signs, or one that it does not know",
      [
        ...["eth_sendRawTransaction", "eth_sendTransaction", "evm_mine"],
        ...["eth_callBundle", "eth_sendRawTransactionSync", "my_eth_call"],
      ],
    ],
  ] as const) {
    it(what, async () => {
      for (const method of methods) {
        const { rpc, asked } = failing(1, codedError("ECONNRESET"));
        await rpc.request(method).catch(() => undefined);
        expect(asked, method).to.have.length(times);
      }
    });
  }
});

/**
 * A node that answers so many requests a second, and refuses all others with a code.
 *
 * @param countsRefusals True if what it refuses counts against the rate, too.
 */
function limitedTo(
  perSecond: number,
  countsRefusals = false,
): RecordingNode & { refusals: number } {
  let answered: number[] = [];
  const node = Object.assign(
    recording(() => {
      const now = performance.now();
      answered = answered.filter((time) => now - time < 1_000);
      if (answered.length >= perSecond) {
        node.refusals += 1;
        if (countsRefusals) {
          answered.push(now);
        }
        return Object.assign(new Error("limit exceeded"), { code: -32_005 });
      }
      answered.push(now);
      return "0x1";
    }),
    { refusals: 0 },
  );
  return node;
}

describe("a client whose node limits the rate of requests", () => {
  speedUpTime();

  for (const [countsRefusals, refusals] of [
    [false, 300],
    [true, 500],
  ] as const) {
    it(`gets every answer of 100 requests at a time from a node that takes two a second, and ${countsRefusals ? "counts" : "does not count"} what it refuses, with less than ${refusals} refusals`, async () => {
      const node = limitedTo(2, countsRefusals);
      const requests = Array.from(
        { length: 100 },
        async () => await node.rpc.request("eth_getBalance"),
      );
      expect(new Set(await Promise.all(requests))).to.deep.equal(
        new Set(["0x1"]),
      );
      expect(node.refusals).to.be.below(refusals);
    });
  }

  it("makes as many requests at a time as before once the node takes them again", async () => {
    let most = 0;
    let underWay = 0;
    let isLimited = true;
    const { rpc } = recording(async () => {
      if (isLimited) {
        return limited;
      }
      underWay += 1;
      most = Math.max(most, underWay);
      await nextTurn();
      underWay -= 1;
      return "0x1";
    });
    const ask = async (count: number): Promise<unknown> =>
      await Promise.allSettled(
        Array.from(
          { length: count },
          async () => await rpc.request("eth_call"),
        ),
      );
    await ask(4);
    isLimited = false;
    await ask(4);
    expect(most).to.equal(1);
    await ask(1_000);
    expect(most).to.equal(16);
  });

  it("ends a request at its deadline while others keep all turns", async () => {
    const { rpc, asked } = inTurn(limited);
    const stop = new AbortController();
    const others = Array.from({ length: 16 }, async () => {
      await rpc
        .withOptions(stop)
        .request("eth_call")
        .catch(() => undefined);
    });
    await expectVaultError(
      rpc.withOptions({ timeout: 100 }).request("eth_chainId"),
      "VAULT_NETWORK_UNREACHABLE",
    );
    stop.abort("enough");
    await Promise.all(others);
    expect(asked.map(({ method }) => method)).to.not.include("eth_chainId");
  });

  for (const seconds of ["0", "-1"]) {
    it(`waits at least a second after each HTTP status 429 with Retry-After: ${seconds}`, async () => {
      const { rpc, asked } = inTurn(
        new StatusError(429, { "retry-after": seconds }),
      );
      await rpc
        .withOptions({ timeout: 5_000 })
        .request("eth_call")
        .catch(() => undefined);
      expect(asked.length).to.be.within(3, 5);
    });
  }

  it("names the answer of the node in the error of a lookup that the deadline ends", async () => {
    const { rpc } = inTurn(limited);
    const lookup = rpc.request("eth_getBlockByNumber");
    lookup.catch(() => undefined);
    const { message } = await expectVaultError(
      rpc
        .withOptions({ timeout: 3_000 })
        .withinDeadline("a lookup", async () => await lookup),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(message).to.contain("HTTP status 429");
    await lookup.catch(() => undefined);
  });
});

describe("a client whose node lacks a block", () => {
  speedUpTime();

  it("asks again for a header if another node of the URL has named the block", async () => {
    let missing = 0;
    const { vault } = recording(() => (missing-- > 0 ? null : header));
    const { number } = await vault.block();
    missing = 2;
    expect(await vault.block(number)).to.include({ number });
    missing = 9;
    const { details } = await expectVaultError(
      vault.block(number),
      "VAULT_BLOCK_NOT_FOUND",
    );
    expect(details).to.include({ block: "5" });
    // Nobody has told of that one.
    missing = 1;
    await expectVaultError(vault.block(number + 1), "VAULT_BLOCK_NOT_FOUND");
  });

  /** How often a call reaches a node that lacks its block, once headers were read by these tags. */
  const timesAsked = async (
    number: unknown,
    block: unknown,
    tags: ReadonlyArray<number | string> = ["latest"],
  ): Promise<number> => {
    const node = recording((method, [tag]) =>
      method === "eth_call"
        ? behind
        : { ...header, number: number === undefined ? tag : number },
    );
    for (const tag of tags) {
      await getBlock(node.rpc, tag).catch(() => undefined);
    }
    await node.rpc.request("eth_call", [{}, block]).catch(() => undefined);
    return node.asked.filter(({ method }) => method === "eth_call").length;
  };

  for (const [times, why, number, block, tags] of [
    [6, "the newest block, by its tag", "0x5", "0x5"],
    [6, "a block by its number", "0x5", "0x5", ["0x5"]],
    [6, "the block before the pending one", "0x6", "0x5", ["pending"]],
    [1, "a block that is only pending", "0x6", "0x6", ["pending"]],
    [1, "a block that no node named", "0x5", "0x6"],
    [6, "a block 127 behind", "0x3e8", "0x369"],
    [1, "a block 128 behind, which few nodes keep", "0x3e8", "0x368"],
    [
      6,
      "the newest block, though an older one was read last",
      undefined,
      "0xa",
      [10, 5],
    ],
  ] as const) {
    it(`asks ${times} times if a node lacks ${why}`, async () => {
      expect(await timesAsked(number, block, tags)).to.equal(times);
    });
  }

  it("waits as long as Retry-After tells before it asks again", async () => {
    const body = { error: { code: -32_000, message: "header not found" } };
    const wait = new StatusError(404, { "retry-after": "7" });
    const { rpc } = failing(1, Object.assign(wait, { body }));
    rpc.node.noteBlock(10);
    const time = await timeOf(rpc.request("eth_call", [{}, "0xa"]));
    expect(time).to.be.within(7_000, 8_000);
  });
});

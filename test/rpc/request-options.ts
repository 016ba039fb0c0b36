import { execFile } from "node:child_process";
import { mock } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { noRetries } from "../../src/rpc/retry.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { WORD, clientOf, failing } from "../helpers/failing-client.js";
import { StatusError } from "../helpers/foreign-errors.js";
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

  for (const [outer, inner] of [
    [20, 60_000],
    [60_000, 20],
    [20, undefined],
  ] as const) {
    it(`ends after 20 ms if an operation has ${outer} ms, and a read in it ${inner ?? "no time of its own"}`, async () => {
      const startedAt = performance.now();
      const hanging = clientOf(async () => await new Promise(() => undefined));
      await expectVaultError(
        hanging.withOptions({ timeout: outer }).queryVolume({ timeout: inner }),
        "VAULT_RPC_TIMEOUT",
      );
      expect(performance.now() - startedAt).to.be.below(1_000);
    });
  }

  it("calls onRetry of an operation for a read in it", async () => {
    const { client } = failing(1, new StatusError(429));
    let told = 0;
    const vault = client.withOptions({
      onRetry: () => {
        told += 1;
      },
    });
    expect(await vault.queryVolume({ timeout: 9_000 })).to.equal(7n);
    expect(told).to.equal(1);
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

  it("waits for the answer to what it sends, though the signal is aborted", async () => {
    const stop = new AbortController();
    const provider = {
      request: async () => {
        stop.abort("enough");
        return await Promise.resolve(WORD);
      },
    };
    const rpc = new RpcClient(provider, "testnet").withOptions(stop);
    expect(await rpc.request("eth_sendRawTransaction", ["0x02"])).to.equal(
      WORD,
    );
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

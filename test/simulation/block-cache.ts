import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { id, toQuantity } from "ethers";

import { Redactor } from "../../src/redact.js";
import { BlockCache } from "../../src/simulation/block-cache.js";
import type { PinnedBlock } from "../../src/simulation/block-cache.js";
import { warm } from "../../src/simulation/warm.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { Exchange, RpcReply, RpcServer } from "../helpers/rpc-server.js";

const NUMBER = 1_000;
const AT = toQuantity(NUMBER);
const ACCOUNT = `0x${"ab".repeat(20)}`;
const OTHER = `0x${"cd".repeat(20)}`;
const WORD = `0x${"0".repeat(63)}7`;
const out = { error: { code: -32_000, message: "out of luck" } };

const hashOf = (number: number, branch = ""): string =>
  id(`${number}${number > NUMBER - 3 ? branch : ""}`);

/** A chain with the same value everywhere, and a branch at its end. */
const answerOf =
  (branch = "") =>
  ({ request: { method, params } }: Pick<Exchange, "request">): RpcReply => {
    const [block] = params;
    if (method === "eth_getBlockByNumber") {
      const number = Number(block);
      const [hash, parentHash] = [number, number - 1].map((each) =>
        hashOf(each, branch),
      );
      return { result: { number: block, hash, parentHash } };
    }
    return method === "eth_getBlockByHash"
      ? { result: { hash: block } }
      : { result: method === "eth_getStorageAt" ? WORD : "0x7" };
  };

const wanted = [{ method: "eth_getBalance", params: [ACCOUNT, AT] }];

describe("the state of one block", () => {
  let server: RpcServer;
  let folder: string;
  let caches: BlockCache[];

  beforeEach(async () => {
    server = await startRpcServer({ handler: answerOf() });
    folder = await mkdtemp(path.join(tmpdir(), "vault-forks-"));
    caches = [];
  });
  afterEach(async () => {
    await Promise.all(caches.map(async (cache) => await cache.close()));
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function open(more: Partial<PinnedBlock> = {}): Promise<BlockCache> {
    const cache = await BlockCache.open({
      upstream: upstream(),
      ...{ chainId: 1, number: NUMBER, hash: hashOf(NUMBER) },
      folder: undefined,
      ...more,
    });
    caches.push(cache);
    return cache;
  }

  async function close(cache: BlockCache): Promise<void> {
    caches.splice(caches.indexOf(cache), 1);
    await cache.close();
  }

  const upstream = () => ({
    ...{
      network: "live",
      redactor: new Redactor(),
      url: server.url,
      headers: {},
      timeout: 10_000,
    },
  });

  const ask = async (
    cache: BlockCache,
    method: string,
    ...params: unknown[]
  ): Promise<unknown> => {
    const { result, error } = fieldsOf(
      (await cache.answer([{ method, params }]))[0],
    );
    return result ?? (error instanceof Error ? error : fieldsOf(error)).message;
  };

  const balance = async (cache: BlockCache): Promise<unknown> =>
    await ask(cache, "eth_getBalance", ACCOUNT, AT);

  /** HTTP requests that this takes. */
  const requestsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = server.bodies.length;
    await work();
    return server.bodies.length - before;
  };

  for (const [what, one, other] of [
    ["a place in storage", [ACCOUNT, "0x1", AT], [ACCOUNT, wordOf(1), AT]],
    ["an address", [ACCOUNT, "0x1", AT], [upper(ACCOUNT), "0x1", AT]],
  ] as const) {
    it(`a cache asks once for a value, in whichever form ${what} is`, async () => {
      const cache = await open();
      for (const params of [one, other]) {
        expect(await ask(cache, "eth_getStorageAt", ...params)).to.equal(WORD);
      }
      expect(server.bodies).to.have.length(1);
    });
  }

  it("a cache asks for each place, account and method by itself, for those of one request in one", async () => {
    const cache = await open();
    const calls = [
      ["eth_getStorageAt", ACCOUNT, "0x1", AT],
      ["eth_getStorageAt", ACCOUNT, "0x2", AT],
      ["eth_getStorageAt", OTHER, "0x1", AT],
      ["eth_getBalance", ACCOUNT, AT],
      ["eth_getCode", ACCOUNT, AT],
    ] as const;
    await cache.answer(
      calls.map(([method, ...params]) => ({ method, params })),
    );
    expect(server.bodies.map(({ length }) => length)).to.deep.equal([
      calls.length,
    ]);
  });

  it("a fork waits for a block that the node does not have yet, and throws VAULT_FORK_REORGED for another one at its number", async () => {
    let isThere = false;
    server.handler = ({ request }) => {
      const answer =
        request.method === "eth_getBlockByNumber" && !isThere
          ? { result: null }
          : answerOf()({ request });
      isThere = true;
      return answer;
    };
    const cache = await open();
    await cache.requireBlock();
    const params = [AT, true];
    const [found] = await cache.answer([
      { method: "eth_getBlockByNumber", params },
    ]);
    expect(fieldsOf(found)["result"]).to.include({ hash: hashOf(NUMBER) });
    const other = await open();
    server.handler = answerOf("b");
    await expectVaultError(other.requireBlock(), "VAULT_FORK_REORGED");
  });

  const slot = ["eth_getStorageAt", ACCOUNT, "0x1"] as const;
  for (const [[method, ...params], answers] of [
    [slot, [null, "0x", `${WORD}00`, "7"]],
    [
      ["eth_getBalance", ACCOUNT],
      [null, "0x", `${WORD}00`, 7],
    ],
    [
      ["eth_getTransactionCount", ACCOUNT],
      [null, "0x", "seven"],
    ],
    [
      ["eth_getCode", ACCOUNT],
      [null, "0x7", "code"],
    ],
  ] as const) {
    for (const block of [NUMBER, NUMBER - 1]) {
      it(`a fork refuses ${answers.map((one) => JSON.stringify(one)).join(", ")} as the answer to ${method} ${block === NUMBER ? "at" : "below"} its block, and reads the value once the node has it`, async () => {
        const cache = await open();
        const at = [...params, toQuantity(block)];
        for (const result of answers) {
          server.handler = ({ request }) =>
            request.method === method ? { result } : answerOf()({ request });
          expect(
            await ask(cache, method, ...at),
            JSON.stringify(result),
          ).to.contain(`to ${method} cannot be used`);
        }
        const result = method === "eth_getCode" ? "0x60" : WORD;
        server.handler = ({ request }) =>
          request.method === method ? { result } : answerOf()({ request });
        expect(await ask(cache, method, ...at)).to.equal(result);
      });
    }
  }

  it("warming asks for no value that is there or on its way, and nobody asks for what it has", async () => {
    const cache = await open();
    await Promise.all([
      cache.prefetch(wanted),
      cache.prefetch([...wanted, ...wanted]),
    ]);
    expect(await balance(cache)).to.equal("0x7");
    await cache.prefetch(wanted);
    expect(server.bodies.flat()).to.have.length(1);
  });

  it("a value that warming gets an error for is asked for by who waits for it", async () => {
    let isWarming = true;
    server.handler = ({ request }) =>
      isWarming && request.method === "eth_getBalance"
        ? out
        : answerOf()({ request });
    const cache = await open();
    const warming = cache.prefetch(wanted).then(() => {
      isWarming = false;
    });
    expect(await balance(cache)).to.equal("0x7");
    await warming;
  });

  it("a cache with a folder writes its file when it is saved, warmed or closed, and only with news", async () => {
    const kept = { folder };
    const [file = ""] = await (async () => {
      const cache = await open(kept);
      await balance(cache);
      await close(cache);
      return await readdir(folder);
    })();
    expect(file).to.match(/^[0-9a-f]{64}\.json$/u);
    const stored = path.join(folder, file);
    const cache = await open(kept);
    expect(await requestsOf(async () => await balance(cache))).to.equal(0);
    await ask(cache, "eth_getCode", ACCOUNT, AT);
    await cache.save();
    await rm(stored);
    await cache.save();
    expect(existsSync(stored)).to.equal(false);
    await warm(cache, NUMBER, { calls: [], accounts: [OTHER] });
    expect(existsSync(stored)).to.equal(true);
  });

  for (const [method, ...params] of [
    ["eth_getBlockReceipts", toQuantity(NUMBER - 9)],
    ["eth_getLogs", {}],
    ["eth_getTransactionByHash", hashOf(1)],
    ["eth_getTransactionReceipt", hashOf(1)],
    ["eth_feeHistory", "0x1", toQuantity(NUMBER - 9), []],
    ["eth_getBalance", ACCOUNT, toQuantity(NUMBER - 400)],
  ] as const) {
    it(`a fork that asks for ${method} below its block ends if the chain has replaced it`, async () => {
      const cache = await open();
      server.handler = answerOf("b");
      expect(await ask(cache, method, ...params)).to.match(
        /chain replaced block 1000/u,
      );
    });
  }

  it("a fork passes on what no block changes without a look at its own", async () => {
    server.handler = answerOf("b");
    expect(await ask(await open(), "eth_gasPrice")).to.equal("0x7");
    expect(server.bodies).to.have.length(1);
  });

  it("a fork asks for what is below its block, and in the same request whether the node still has that", async () => {
    const below = toQuantity(NUMBER - 5);
    const cache = await open();
    await ask(cache, "eth_getBlockByNumber", below, true);
    expect(
      server.bodies.at(-1)?.map(({ method, params }) => [method, ...params]),
    ).to.deep.equal([
      ["eth_getBlockByNumber", below, true],
      ["eth_getBlockByNumber", AT, false],
    ]);
    server.handler = () => ({ result: null });
    expect(await ask(cache, "eth_getBlockByNumber", below, true)).to.match(
      /has no block 1000/u,
    );
  });
});

function wordOf(value: number): string {
  return `0x${value.toString(16).padStart(64, "0")}`;
}

function upper(address: string): string {
  return `0x${address.slice(2).toUpperCase()}`;
}

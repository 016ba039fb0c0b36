import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { id, toQuantity } from "ethers";

import { Redactor } from "../../src/redact.js";
import { BlockCache } from "../../src/simulation/block-cache.js";
import type { PinnedBlock } from "../../src/simulation/block-cache.js";
import { expectVaultError } from "../helpers/assertions.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { Exchange, RpcReply, RpcServer } from "../helpers/rpc-server.js";
import { fieldsOf } from "../helpers/fields.js";

const NUMBER = 1_000;
const AT = toQuantity(NUMBER);
const HASH = id("block 1000");
const ACCOUNT = `0x${"ab".repeat(20)}`;
const OTHER = `0x${"cd".repeat(20)}`;
const WORD = `0x${"0".repeat(63)}7`;
const out = { error: { code: -32_000, message: "out of luck" } };

/** A chain with the same value everywhere. */
const answerOf = ({
  request: { method, params },
}: Pick<Exchange, "request">): RpcReply =>
  method === "eth_getBlockByNumber"
    ? {
        result: { number: params[0], hash: `0x${HASH.slice(2).toUpperCase()}` },
      }
    : { result: method === "eth_getStorageAt" ? WORD : "0x07" };

const balanceCall = { method: "eth_getBalance", params: [ACCOUNT, AT] };

describe("the state of one block", () => {
  let server: RpcServer;
  let folder: string;
  let caches: BlockCache[];

  beforeEach(async () => {
    server = await startRpcServer({ handler: answerOf });
    folder = await mkdtemp(path.join(tmpdir(), "vault-forks-"));
    caches = [];
  });
  afterEach(async () => {
    await Promise.all(caches.map(async (cache) => await cache.close()));
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function open(
    more: Partial<PinnedBlock> = {},
    key = "s3cret",
    route = "",
  ): Promise<BlockCache> {
    const cache = await BlockCache.open({
      upstream: {
        ...{ network: "live", redactor: new Redactor() },
        ...{ url: `${server.url}${route}`, headers: { key }, timeout: 10_000 },
      },
      ...{ number: NUMBER, hash: HASH, folder: undefined },
      ...more,
    });
    caches.push(cache);
    return cache;
  }

  /** The result, or the text of the error. */
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

  it("a value is asked for once, in whichever form a place and an address are, and net_version once for each block", async () => {
    const cache = await open();
    const slot = `0x${"1".padStart(64, "0")}`;
    const inUpperCase = `0x${"AB".repeat(20)}`;
    for (const [method, ...params] of [
      ["eth_getStorageAt", ACCOUNT, "0x1", AT],
      ["eth_getStorageAt", ACCOUNT, slot, AT],
      ["eth_getStorageAt", inUpperCase, "0x1", AT],
      ["net_version"],
      ["net_version"],
    ] as const) {
      await ask(cache, method, ...params);
    }
    expect(server.requests.map(({ method }) => method)).to.deep.equal([
      ...["eth_getStorageAt", "net_version"],
    ]);
  });

  it("a balance below the block is asked for with the block's header, which shows its branch", async () => {
    const at = toQuantity(NUMBER - 1);
    await ask(await open(), "eth_getBalance", ACCOUNT, at);
    expect(server.requests.map(({ method }) => method)).to.deep.equal([
      ...["eth_getBalance", "eth_getBlockByNumber"],
    ]);
  });

  it("each place, account and method is asked for by itself, those of one request in one", async () => {
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

  for (const [method, at, block, right, wrong] of [
    ["eth_getStorageAt", ["0x1"], NUMBER, WORD, [null, `${WORD}00`, "7"]],
    ["eth_getBalance", [], NUMBER, "0x7", ["0x", `${WORD}00`, 7]],
    ["eth_getBalance", [], NUMBER - 1, "0x7", [null]],
    ["eth_getTransactionCount", [], NUMBER, "0x7", [null, "seven"]],
    ["eth_getCode", [], NUMBER, "0x60", [null, "0x7"]],
  ] as const) {
    it(`${JSON.stringify(wrong)} are no answers to ${method} ${block === NUMBER ? "at" : "below"} the block, and the value is read once the node has it`, async () => {
      const cache = await open();
      const read = async (result: unknown): Promise<unknown> => {
        server.handler = (exchange) =>
          exchange.request.method === method ? { result } : answerOf(exchange);
        return await ask(cache, method, ACCOUNT, ...at, toQuantity(block));
      };
      for (const result of wrong) {
        expect(await read(result), JSON.stringify(result)).to.contain(
          `to ${method} cannot be used`,
        );
      }
      expect(await read(right)).to.equal(right);
    });
  }

  for (const method of ["eth_getBlockByNumber", "eth_chainId"]) {
    it(`requireBlock() throws the error of a node that refuses ${method}`, async () => {
      server.handler = (exchange) =>
        exchange.request.method === method ? out : answerOf(exchange);
      const cache = await open();
      const { details } = await expectVaultError(
        cache.requireBlock(),
        "VAULT_RPC_ERROR",
      );
      expect(details).to.include({ method });
    });
  }

  it("prefetch() asks for no value that is there or on its way, and nobody asks for what it has", async () => {
    const cache = await open();
    await Promise.all([
      cache.prefetch([balanceCall]),
      cache.prefetch([balanceCall, balanceCall]),
    ]);
    expect(await balance(cache)).to.equal("0x07");
    await cache.prefetch([balanceCall]);
    expect(server.bodies.flat()).to.have.length(1);
  });

  it("a value that prefetch() waits for in vain is asked for by who needs it", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isFirst = true;
    server.handler = async (exchange) => {
      if (isFirst) {
        isFirst = false;
        await held;
      }
      return answerOf(exchange);
    };
    const cache = await open();
    const fetched = cache.prefetch([balanceCall]);
    expect(await balance(cache)).to.equal("0x07");
    release();
    await fetched;
    expect(server.bodies).to.have.length(2);
  });

  describe("in a file", () => {
    const stored = async (): Promise<string> => {
      const [file = "", ...more] = await readdir(folder);
      expect(more).to.deep.equal([]);
      return path.join(folder, file);
    };
    const openAndClose = async (): Promise<void> => {
      const cache = await open({ folder });
      await balance(cache);
      caches.pop();
      await cache.close();
    };

    it("values are kept for the next cache, without URL and headers, under another name for another block, header or URL", async () => {
      await openAndClose();
      const file = await stored();
      expect(path.basename(file)).to.match(/^[0-9a-f]{64}\.json$/u);
      expect(await readFile(file, "utf8")).to.not.match(/s3cret|127\.0\.0\.1/u);
      server.clear();
      expect(await balance(await open({ folder }))).to.equal("0x07");
      expect(server.bodies).to.deep.equal([]);
      await balance(await open({ folder, hash: id("another block") }));
      expect(server.bodies).to.have.length(1);
      // A node may answer by who asks.
      await balance(await open({ folder }, "another key"));
      expect(server.bodies).to.have.length(2);
      await balance(await open({ folder }, undefined, "/of-another-chain"));
      expect(server.bodies).to.have.length(3);
    });

    it("close() ends if no file can be written", async () => {
      const file = path.join(folder, "file");
      await writeFile(file, "");
      const cache = await open({ folder: file });
      await balance(cache);
      caches.pop();
      await cache.close();
    });

    for (const [title, text] of [
      ["is no JSON", "{"],
      [
        "has another block",
        `{"eth_getBlockByNumber true":{"hash":"${id("another block")}"}}`,
      ],
      [
        "has a value of another form",
        '{"net_version":"1","eth_getCode 0x1":{"hash":"0x1"}}',
      ],
    ] as const) {
      it(`the node is asked if the file ${title}, and the file written anew`, async () => {
        await openAndClose();
        await writeFile(await stored(), text);
        server.clear();
        await openAndClose();
        expect(server.bodies).to.have.length(1);
        const kept: unknown = JSON.parse(
          await readFile(await stored(), "utf8"),
        );
        expect(kept).to.deep.equal({ [`eth_getBalance ${ACCOUNT}`]: "0x07" });
      });
    }
  });
});

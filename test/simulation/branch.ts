import { expect } from "chai";
import { toQuantity } from "ethers";

import { Redactor } from "../../src/redact.js";
import { BlockCache } from "../../src/simulation/block-cache.js";
import type { PinnedBlock } from "../../src/simulation/block-cache.js";
import { warm } from "../../src/simulation/warm.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RecordedRequest, RpcServer } from "../helpers/rpc-server.js";
import { directProvider } from "../helpers/world.js";

/** Of anvil's development accounts. */
const FIRST_ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const RICH = "0x21e19e0c9bab2400000";
const OTHER_HASH = `0x${"ab".repeat(32)}`;

const notFound = { error: { code: -32_000, message: "header not found" } };
const badParams = { error: { code: -32_602, message: "invalid argument 1" } };

const settings = {
  network: "live",
  redactor: new Redactor(),
  headers: {},
  timeout: 10_000,
};

const isByHash = ({ params }: RecordedRequest): boolean =>
  params.some((each) => fieldsOf(each)["blockHash"] !== undefined);

/** The block number as another branch of the chain has it. */
const onOtherBranch = (real: unknown): { result: unknown } => ({
  result: { ...fieldsOf(real), hash: OTHER_HASH },
});

describe("reads of one branch of the chain", () => {
  const anvil = useAnvil();
  let provider: ReturnType<typeof directProvider>;
  let node: RpcServer;
  let number: number;
  let caches: BlockCache[];

  before(() => {
    provider = directProvider(anvil.url);
  });
  after(() => {
    provider.destroy();
  });
  beforeEach(async () => {
    await provider.send("anvil_mine", ["0xa"]);
    number = await provider.getBlockNumber();
    node = await startRpcServer({ upstream: anvil.url });
    caches = [];
  });
  afterEach(async () => {
    await Promise.all(caches.map(async (cache) => await cache.close()));
    await node.stop();
  });

  const headerAt = async (block: number) =>
    fieldsOf(
      await provider.send("eth_getBlockByNumber", [toQuantity(block), false]),
    );

  async function open(more: Partial<PinnedBlock> = {}): Promise<BlockCache> {
    const { hash } = await headerAt(number);
    const cache = await BlockCache.open({
      upstream: { ...settings, url: node.url },
      ...{ chainId: 31_337, number, hash: String(hash) },
      folder: undefined,
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

  const balance = async (cache: BlockCache, block = number): Promise<unknown> =>
    await ask(cache, "eth_getBalance", FIRST_ACCOUNT, toQuantity(block));

  /** Methods of all requests, where a state was asked by hash or with its check. */
  const asked = (): ReadonlyArray<readonly string[]> =>
    node.bodies.map((calls) => calls.map(({ method }) => method));

  it("a fork reads state by the block's hash, so that a node on another branch cannot answer", async () => {
    node.answer = (call) =>
      call.method === "eth_getBalance" && !isByHash(call)
        ? { result: "0x666" }
        : undefined;
    expect(await balance(await open())).to.equal(RICH);
    expect(asked()).to.deep.equal([["eth_getBalance"]]);
  });

  it("a fork asks again, by the hash, if a node behind the same URL does not have the block yet", async () => {
    let refusals = 2;
    node.answer = (call) =>
      call.method !== "eth_getBalance"
        ? undefined
        : !isByHash(call)
          ? { result: "0x666" }
          : refusals-- > 0
            ? notFound
            : undefined;
    expect(await balance(await open())).to.equal(RICH);
  });

  it("a node that takes only numbers is asked for the hash in the same request, once it has refused", async () => {
    node.answer = (call) => (isByHash(call) ? badParams : undefined);
    const cache = await open();
    expect(await balance(cache)).to.equal(RICH);
    node.clear();
    await ask(cache, "eth_getCode", FIRST_ACCOUNT, toQuantity(number));
    expect(asked()).to.deep.equal([["eth_getCode", "eth_getBlockByNumber"]]);
    node.answer = ({ method }, real) =>
      method === "eth_getBlockByNumber" ? onOtherBranch(real) : undefined;
    const nonce = [FIRST_ACCOUNT, toQuantity(number)];
    expect(await ask(cache, "eth_getTransactionCount", ...nonce)).to.match(
      /chain replaced block \d+/u,
    );
  });

  for (const [code, message] of [
    [-32_602, "invalid block number"],
    [-32_000, "invalid block parameter"],
  ] as const) {
    it(`a fork reads by number from a node that refuses a hash with ${code} "${message}"`, async () => {
      node.answer = (call) =>
        isByHash(call) ? { error: { code, message } } : undefined;
      expect(await balance(await open())).to.equal(RICH);
    });
  }

  it("a fork takes no state of a node without batches that replaced the block between state and header", async () => {
    node.batch = () => 413;
    node.answer = (call, real) => {
      if (isByHash(call)) {
        return badParams;
      }
      if (call.method === "eth_getBalance") {
        return { result: "0x666" };
      }
      const headers = node.bodies.filter(
        ([one, ...more]) =>
          one?.method === "eth_getBlockByNumber" && more.length === 0,
      );
      // The first is under way together with the state.
      return headers.length > 1 ? onOtherBranch(real) : undefined;
    };
    expect(
      await balance(await open()),
      `after ${JSON.stringify(asked())}`,
    ).to.match(/chain replaced block \d+/u);
  });

  for (const [title, read] of [
    ["state of its block", async (cache) => await balance(cache)],
    [
      "state below its block",
      async (cache) => await balance(cache, number - 3),
    ],
    [
      "a block below its own",
      async (cache) =>
        await ask(
          cache,
          ...(["eth_getBlockByNumber", toQuantity(number - 4), true] as const),
        ),
    ],
    [
      "logs",
      async (cache) =>
        await ask(cache, "eth_getLogs", {
          fromBlock: "0x1",
          toBlock: toQuantity(number),
        }),
    ],
  ] satisfies ReadonlyArray<
    readonly [string, (cache: BlockCache) => Promise<unknown>]
  >) {
    it(`a fork that reads ${title} ends once the chain has replaced its block, and reads nothing more`, async () => {
      const cache = await open();
      await provider.send("anvil_reorg", [6, []]);
      expect(await read(cache)).to.match(/chain replaced block \d+/u);
      node.clear();
      expect(await read(cache)).to.match(/chain replaced block \d+/u);
      expect(node.bodies).to.deep.equal([]);
    });
  }

  it("a fork takes no answer that comes bit by bit for longer than the timeout", async () => {
    node.handler = ({ response }) => {
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => {
        clearInterval(timer);
      });
      return "handled";
    };
    const upstream = { ...settings, url: node.url, timeout: 100 };
    expect(await balance(await open({ upstream }))).to.contain(
      "did not answer eth_getBalance in time",
    );
  });

  describe("warming", () => {
    const needs = {
      calls: Array.from({ length: 9 }, () => ({
        ...{ from: FIRST_ACCOUNT, to: FIRST_ACCOUNT, data: "0x" },
      })),
      accounts: [],
    };

    it("warming that a node never answers holds up no read, and ends with the fork", async () => {
      const { held, release } = holdBack(node, "eth_createAccessList");
      const cache = await open();
      const work = warm(cache, number, needs).catch(String);
      await unlessOver(held, work);
      expect(await ask(cache, "eth_getStorageAt", ...slotOf(number))).to.equal(
        `0x${"0".repeat(64)}`,
      );
      await cache.close();
      caches = [];
      await work;
      release();
    });

    it("a value that warming asked for in vain is asked for again by whoever needs it", async () => {
      let isFirst = true;
      const { held, release } = holdBack(node, "eth_getBalance", () => {
        const was = isFirst;
        isFirst = false;
        return was;
      });
      const cache = await open();
      const work = warm(cache, number, needs).catch(String);
      await unlessOver(held, work);
      expect(await balance(cache)).to.equal(RICH);
      release();
      await work;
    });

    it("warming ends at once if the node answers each batch with HTTP status 429, and reads go on alone", async () => {
      node.batch = () => 429;
      const cache = await open();
      await warm(cache, number, needs).catch(String);
      const batches = node.bodies.filter((calls) => calls.length > 1);
      // Two kinds of batch, each sent twice.
      expect(batches).to.have.length.below(5);
      expect(node.bodies).to.have.length(batches.length);
      expect(await balance(cache)).to.equal(RICH);
      expect(node.bodies).to.have.length(batches.length + 1);
    });

    it("warming ends if the node limits the rate inside a batch", async () => {
      node.batch = (answers) =>
        answers.map((answer) => ({
          ...{ jsonrpc: "2.0", id: fieldsOf(answer)["id"] },
          error: { code: -32_005, message: "limit exceeded" },
        }));
      await warm(await open(), number, needs).catch(String);
      expect(node.bodies).to.have.length.below(3);
    });
  });
});

const slotOf = (number: number): readonly unknown[] => [
  ...[FIRST_ACCOUNT, "0x1", toQuantity(number)],
];

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Waits for a request of this work; fails if the work ends before it is sent. */
async function unlessOver(
  arrived: Promise<void>,
  work: Promise<unknown>,
): Promise<void> {
  const end = work.then((problem) =>
    expect.fail(`warming ended before its request: ${String(problem)}`),
  );
  await Promise.race([arrived, end]);
  // It ends later in the tests, as it should.
  end.catch(() => undefined);
}

/** Lets a node behind never answer requests for a method, until they are released. */
function holdBack(
  node: RpcServer,
  held: string,
  isHeld: () => boolean = () => true,
): { held: Promise<void>; release: () => void } {
  const arrived = deferred();
  const released = deferred();
  node.handler = async ({ request }) => {
    if (request.method === held && isHeld()) {
      arrived.resolve();
      await released.promise;
    }
    return undefined;
  };
  return { held: arrived.promise, release: released.resolve };
}

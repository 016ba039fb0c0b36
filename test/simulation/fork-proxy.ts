import { expect } from "chai";
import { id, toQuantity } from "ethers";
import { existsSync } from "node:fs";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { HttpTransport, ForkProxy } from "../../src/simulation/fork-proxy.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf } from "../helpers/fields.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type {
  RecordedRequest,
  RpcReply,
  RpcServer,
} from "../helpers/rpc-server.js";

const NUMBER = 1_000;
const AT = toQuantity(NUMBER);
const BELOW = toQuantity(NUMBER - 9);
const HASH = id("its branch");
const ACCOUNT = `0x${"ab".repeat(20)}`;
const OTHER = `0x${"cd".repeat(20)}`;
const FROM = `0x${"ef".repeat(20)}`;
const SLOT = `0x${"1".padStart(64, "0")}`;
const WORD = `0x${"0".repeat(63)}7`;

const header = (hash: string): RpcReply => ({
  result: { number: AT, timestamp: "0x1", hash },
});
// The case of a hash is the node's choice.
const ours = header(`0x${HASH.slice(2).toUpperCase()}`);
const others = header(id("another branch"));
const notFound = { error: { code: -32_000, message: "header not found" } };
const badParams = { error: { code: -32_602, message: "invalid argument 1" } };
const out = { error: { code: -32_000, message: "out of luck" } };
const WRONG = { result: "0x666" };

const isHeader = ({ method }: RecordedRequest): boolean =>
  method === "eth_getBlockByNumber";
const isByHash = ({ params }: RecordedRequest): boolean =>
  params.some((each) => fieldsOf(each)["blockHash"] === HASH);

const call = (
  ...all: readonly [method: string, ...params: unknown[]]
): typeof all => all;
const balance = call("eth_getBalance", ACCOUNT, AT);
const code = call("eth_getCode", ACCOUNT, AT);

describe("what a fork reads from its node", () => {
  let server: RpcServer;
  let proxy: ForkProxy;
  /** What the node has by the block's hash, by its number, and of the block itself. */
  let byHash: (request: RecordedRequest) => RpcReply;
  let byNumber: () => RpcReply;
  let chain: () => RpcReply;

  beforeEach(async () => {
    byHash = () => ({ result: "0x07" });
    byNumber = () => WRONG;
    chain = () => ours;
    server = await startRpcServer({
      handler: ({ request }) =>
        isHeader(request)
          ? chain()
          : isByHash(request)
            ? byHash(request)
            : byNumber(),
    });
    proxy = open();
  });
  afterEach(async () => {
    await proxy.close();
    await server.stop();
  });

  const open = (): ForkProxy =>
    new ForkProxy(
      new RpcClient(fetchProvider(server.url), "live"),
      { url: server.url, headers: {}, timeout: 10_000 },
      { number: NUMBER, hash: HASH },
    );
  /** The methods of each HTTP request. */
  const sent = (): ReadonlyArray<readonly string[]> =>
    server.bodies.map((calls) => calls.map(({ method }) => method));
  const sizes = (): readonly number[] =>
    server.bodies.map(({ length }) => length);
  /** After the node has shown whether it takes hashes. */
  const begun = async (): Promise<void> => {
    await proxy.get(call("eth_getStorageAt", OTHER, "0x1", AT));
    server.clear();
  };
  /** Three values of each account are fetched. */
  const warm = async (...accounts: readonly string[]): Promise<void> => {
    proxy.warm(() => ({ calls: [], accounts }));
    await proxy.get(call("eth_getStorageAt", OTHER, "0x77", AT));
  };

  describe("of one branch", () => {
    it("state is asked for by the block's hash, so that a node on another branch cannot answer", async () => {
      expect(await proxy.get(balance)).to.equal("0x07");
      expect(server.bodies[0]?.[0]?.params).to.deep.equal([
        ACCOUNT,
        { blockHash: HASH, requireCanonical: true },
      ]);
      await warm(FROM);
      expect(server.bodies[1]?.every(isByHash)).to.equal(true);
    });

    it("state is asked for again, by the hash, if a node behind the same URL does not have the block yet", async () => {
      await begun();
      let refusals = 2;
      byHash = () => (refusals-- > 0 ? notFound : { result: "0x07" });
      expect(await proxy.get(balance)).to.equal("0x07");
    });

    it("state is asked for by number of a node that takes no hash, and the block's hash is compared afterwards", async () => {
      byHash = () => badParams;
      byNumber = () => ({ result: "0x08" });
      expect(await proxy.get(balance)).to.equal("0x08");
      server.clear();
      expect(await proxy.get(code)).to.equal("0x08");
      expect(sent()).to.deep.equal([["eth_getCode"], ["eth_getBlockByNumber"]]);
    });

    it("no value is kept that a node without hashes answers of another branch, alone or in a batch", async () => {
      byHash = () => badParams;
      byNumber = () => ({ result: "0x08" });
      chain = () => others;
      proxy.warm(() => ({ calls: [], accounts: [ACCOUNT] }));
      await expectVaultError(proxy.get(balance), "VAULT_REORGED");
      expect(sent()).to.deep.include(["eth_getBlockByNumber"]);
    });

    it("the block itself is asked for again while the node has none at its number, and is not taken of another branch", async () => {
      const answers = [{ result: null }, { result: null }];
      chain = () => answers.pop() ?? ours;
      const block = call("eth_getBlockByNumber", AT, true);
      expect(await proxy.get(block)).to.include({ number: AT });
      chain = () => others;
      await expectVaultError(
        proxy.get(call("eth_getBlockByNumber", AT, false)),
        "VAULT_REORGED",
      );
    });

    for (const [method, ...params] of [
      ["eth_getBlockByNumber", BELOW, true],
      ["eth_getLogs", {}],
      ["eth_getBalance", ACCOUNT, BELOW],
    ] as const) {
      it(`${method} below the block is not taken once the chain has replaced the block`, async () => {
        let headers = 0;
        chain = () => {
          headers += 1;
          return method === "eth_getBlockByNumber" && headers === 1
            ? header(id("below"))
            : others;
        };
        await expectVaultError(
          proxy.get(call(method, ...params)),
          "VAULT_REORGED",
        );
      });
    }

    it("what was read is still there once the chain has replaced the block", async () => {
      await proxy.get(balance);
      chain = () => others;
      const { details } = await expectVaultError(
        proxy.requireSameBranch(),
        "VAULT_REORGED",
      );
      expect(details).to.include({ network: "live", block: NUMBER });
      expect(await proxy.get(balance)).to.equal("0x07");
    });

    it("a read throws VAULT_BLOCK_NOT_FOUND if the node does not get the block", async () => {
      byHash = () => notFound;
      chain = () => ({ result: null });
      await expectVaultError(proxy.get(balance), "VAULT_BLOCK_NOT_FOUND");
    });
  });

  describe("once", () => {
    it("a value is asked for once, at the same time and later", async () => {
      await Promise.all([proxy.get(balance), proxy.get(balance)]);
      expect(await proxy.get(balance)).to.equal("0x07");
      expect(sent()).to.deep.equal([["eth_getBalance"]]);
    });

    it("balance, nonce and code of accounts, of the calls and of those that their access lists name, and the slots, are fetched in one batch, for which a read waits", async () => {
      await begun();
      const list = [
        { address: OTHER.toUpperCase().replace("X", "x"), storageKeys: [SLOT] },
        { address: 7, storageKeys: [SLOT] },
      ];
      byNumber = () => ({ result: { accessList: list } });
      proxy.warm(() => ({
        calls: [{ from: FROM, to: ACCOUNT, data: "0x" }],
        accounts: [FROM],
      }));
      const slot = call("eth_getStorageAt", OTHER, "0x1", AT);
      expect(await proxy.get(slot)).to.equal("0x07");
      expect(await proxy.get(balance)).to.equal("0x07");
      expect(sizes()).to.deep.equal([1, 3 * 3]);
    });

    it("a read works without the warming if the node has no access lists, or the plan fails", async () => {
      byNumber = () => badParams;
      for (const plan of [
        async () => ({
          calls: [{ from: FROM, to: ACCOUNT, data: "0x" }],
          accounts: [],
        }),
        async () => await Promise.reject(new Error("no plan")),
      ]) {
        proxy.warm(plan);
        expect(await proxy.get(code)).to.equal("0x07");
      }
    });

    for (const [method, at, right, wrong] of [
      ["eth_getStorageAt", ["0x1"], WORD, [null, "0x", "7"]],
      ["eth_getBalance", [], "0x7", ["0x", 7]],
      ["eth_getTransactionCount", [], "0x7", [null, "seven"]],
      ["eth_getCode", [], "0x60", [null, "60"]],
    ] as const) {
      it(`${JSON.stringify(wrong)} are no answers to ${method}, alone or in a batch, and the value is read once the node has it`, async () => {
        const asked = call(method, ACCOUNT, ...at, AT);
        for (const result of wrong) {
          byHash = () => ({ result });
          proxy.warm(() => ({ calls: [], accounts: [ACCOUNT] }));
          const error = await expectVaultError(
            proxy.get(asked),
            "VAULT_RPC_INVALID_RESPONSE",
          );
          expect(error.message).to.contain(`to ${method} cannot be used`);
        }
        byHash = () => ({ result: right });
        expect(await proxy.get(asked)).to.equal(right);
      });
    }

    for (const method of ["eth_getBlockByNumber", "eth_chainId"]) {
      it(`begin() throws the error of a node that refuses ${method}`, async () => {
        const { handler } = server;
        server.handler = async (exchange) =>
          exchange.request.method === method ? out : await handler(exchange);
        const { details } = await expectVaultError(
          proxy.begin(),
          "VAULT_RPC_ERROR",
        );
        expect(details).to.include({ method });
      });
    }
  });

  describe("in batches", () => {
    /** Each value is its own method. */
    beforeEach(async () => {
      await begun();
      byHash = ({ method }) => ({
        result: { eth_getBalance: "0x1", eth_getCode: "0x22" }[method] ?? "0x3",
      });
    });
    const expectValues = async (): Promise<void> => {
      expect(await proxy.get(balance)).to.equal("0x1");
      expect(await proxy.get(code)).to.equal("0x22");
    };

    it("each value is that with its id, in whatever order they come, and those that are missing are asked for alone", async () => {
      server.batch = (answers) => [
        { id: null, result: "0x99" },
        { id: 77, result: "0x99" },
        ...answers.slice(1).toReversed(),
      ];
      await warm(ACCOUNT);
      expect(sizes()).to.deep.equal([3, 1, 1]);
      await expectValues();
      expect(sizes()).to.deep.equal([3, 1, 1]);
    });

    it("what is asked for at the same moment is fetched in one batch", async () => {
      await Promise.all([proxy.get(balance), proxy.get(code)]);
      expect(sizes()).to.deep.equal([2]);
      await expectValues();
    });

    it("a batch has at most 100 calls", async () => {
      const accounts = Array.from({ length: 70 }, (_, index) =>
        toQuantity(0x1000n + BigInt(index)).padEnd(42, "0"),
      );
      await warm(...accounts);
      expect(sizes().toSorted((a, b) => b - a)).to.deep.equal([
        100, 100, 10, 1,
      ]);
    });

    for (const [title, refusal] of [
      ["an HTTP status", 413],
      ["text", "<html>too many</html>"],
      ["nothing", "cut"],
      ["one error", { id: null, error: { code: -32_600, message: "no" } }],
    ] as const) {
      it(`values are asked for one by one of a node that answers a batch with ${title}`, async () => {
        server.batch = () => refusal;
        await warm(ACCOUNT);
        server.clear();
        await expectValues();
        expect(sent()).to.deep.equal([]);
      });
    }

    it("a batch is repeated whole in which the node limits the rate of one call", async () => {
      let refusals = 2;
      server.handler = ({ request, isBatch }) =>
        isBatch && request.id === 1 && refusals-- > 0
          ? { error: { code: -32_005, message: "limit exceeded" } }
          : byHash(request);
      await warm(ACCOUNT);
      expect(sizes()).to.deep.equal([3, 3, 3, 1]);
    });

    it("what a batch answers with an error is asked for alone", async () => {
      server.handler = ({ request, isBatch }) =>
        isBatch && request.id === 1 ? out : byHash(request);
      await warm(ACCOUNT);
      expect(sizes()).to.deep.equal([3, 1, 1]);
      await expectValues();
      expect(sizes()).to.deep.equal([3, 1, 1]);
    });
  });

  describe("for the simulator, on loopback", () => {
    beforeEach(async () => {
      await proxy.begin();
    });

    const post = async (body: unknown, url = proxy.url): Promise<Response> =>
      await fetch(url, { method: "POST", body: JSON.stringify(body) });

    it("it answers under its own path only", async () => {
      const { url } = proxy;
      expect(url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{48}$/u);
      const asked = { id: 7, method: "eth_blockNumber" };
      expect((await post(asked)).status).to.equal(200);
      expect((await post(asked, `${url}0`)).status).to.equal(404);
      expect((await fetch(url)).status).to.equal(404);
    });

    it("a batch is answered in its order with its ids, and with a newest block far above the block", async () => {
      const batch = [
        { id: "a", method: "eth_getBalance", params: [ACCOUNT, AT] },
        { id: 2, method: "eth_blockNumber" },
      ];
      const answers: unknown = await (await post(batch)).json();
      expect(answers).to.deep.equal([
        { jsonrpc: "2.0", id: "a", result: "0x07" },
        { jsonrpc: "2.0", id: 2, result: toQuantity(NUMBER + 1_000) },
      ]);
    });

    it("an error is passed on with the network's name and the node's words", async () => {
      byNumber = () => ({ error: { code: -32_011, message: "not today" } });
      const asked = { id: 7, method: "eth_gasPrice", params: [] };
      const { error } = fieldsOf(await (await post(asked)).json());
      expect(fieldsOf(error)["message"]).to.match(/Network live .*not today/u);
    });

    it("the server and its folder are gone once the fork is closed, and keep no process running before that", async () => {
      const servers = (): number =>
        process
          .getActiveResourcesInfo()
          .filter((name) => name === "TCPServerWrap").length;
      const before = servers();
      const other = open();
      await other.begin();
      expect(servers()).to.equal(before);
      const { url, folder } = other;
      expect(existsSync(folder)).to.equal(true);
      await other.close();
      expect(existsSync(folder)).to.equal(false);
      const answered: unknown = await post({}, url).catch(String);
      expect(answered).to.equal("TypeError: fetch failed");
    });
  });

  it("a read that waits for the node ends when the fork is closed", async () => {
    server.handler = async () => await new Promise(() => undefined);
    const refused = expectVaultError(
      proxy.get(balance),
      "VAULT_NETWORK_UNREACHABLE",
    );
    await proxy.close();
    await refused;
  });
});

const chainId = { method: "eth_chainId" };

describe("a node over HTTP, behind a fork", () => {
  let server: RpcServer;
  let transport: HttpTransport;

  const connect = (timeout: number, url = server.url): HttpTransport =>
    new HttpTransport({ url, headers: { "x-key": "one" }, timeout });

  beforeEach(async () => {
    server = await startRpcServer({ handler: () => ({ result: "0x1" }) });
  });
  afterEach(async () => {
    await transport.close();
    await server.stop();
  });

  it("gets the headers of the network, without a limit of the time, too", async () => {
    transport = connect(0);
    expect(await transport.request(chainId)).to.equal("0x1");
    expect(server.httpRequests[0]?.headers["x-key"]).to.equal("one");
  });

  it("fails each request, and nothing before, if its URL cannot be used", async () => {
    transport = connect(0);
    const unusable = connect(0, "no url");
    await transport.request(chainId);
    const failure = await unusable.request(chainId).catch(String);
    expect(failure).to.match(/invalid url/iu);
  });

  it("has refused if there is an error, though a result of null is beside it", async () => {
    const error = { code: -32_000, message: "no" };
    server.handler = ({ request, response }) => {
      const { id: asked } = request;
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: asked, result: null, error }),
      );
      return "handled";
    };
    transport = connect(10_000);
    const [end] = await Promise.allSettled([transport.request(chainId)]);
    expect(end).to.deep.equal({ status: "rejected", reason: error });
  });

  it("has the time of one request for the whole answer, however it is cut into pieces", async () => {
    server.handler = ({ request, response }) => {
      let pieces = 0;
      const timer = setInterval(() => {
        pieces += 1;
        if (pieces < 100) {
          response.write(" ");
        } else {
          clearInterval(timer);
          const { id: asked } = request;
          response.end(
            JSON.stringify({ jsonrpc: "2.0", id: asked, result: "0x1" }),
          );
        }
      }, 20);
      response.once("close", () => clearInterval(timer));
      return "handled";
    };
    transport = connect(200);
    const [end] = await Promise.allSettled([transport.request(chainId)]);
    expect(end.status).to.equal("rejected");
  });
});

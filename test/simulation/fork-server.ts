import { existsSync } from "node:fs";

import { expect } from "chai";
import { id, toQuantity } from "ethers";

import { Redactor } from "../../src/redact.js";
import { ForkServer } from "../../src/simulation/fork-server.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const NUMBER = 1_000;
const AT = toQuantity(NUMBER);
const ACCOUNT = `0x${"ab".repeat(20)}`;
const HASH = id("block 1000");

describe("the loopback server of a fork", () => {
  let server: RpcServer;
  let fork: ForkServer;

  beforeEach(async () => {
    server = await startRpcServer({
      handler: ({ request: { method } }) => ({
        result:
          method === "eth_getBlockByNumber"
            ? { number: AT, timestamp: "0x1", hash: HASH }
            : "0x7",
      }),
    });
    fork = await open();
  });
  afterEach(async () => {
    await fork.close();
    await server.stop();
  });

  const open = async (): Promise<ForkServer> =>
    await ForkServer.open({
      ...{ network: "live", redactor: new Redactor(), url: server.url },
      ...{ headers: {}, timeout: 10_000, number: NUMBER, hash: HASH },
    });
  const post = async (body: unknown, url = fork.url): Promise<Response> =>
    await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const ask = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await (await post({ jsonrpc: "2.0", id: 7, method, params })).json();

  it("the server answers on loopback under its own path only", async () => {
    const { url } = fork;
    expect(url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{48}$/u);
    const call = { id: 7, method: "eth_chainId" };
    expect((await post(call)).status).to.equal(200);
    expect((await post(call, `${url}0`)).status).to.equal(404);
    expect((await fetch(url)).status).to.equal(404);
  });

  it("a batch is answered in its order with its ids: chain and state of the block from what was read, a newest block far above it, and what else there is from the node", async () => {
    await ask("eth_getBalance", ACCOUNT, AT);
    await ask("eth_chainId");
    server.clear();
    const batch = [
      { id: "a", method: "eth_getBalance", params: [ACCOUNT, AT] },
      { id: 2, method: "eth_blockNumber" },
      { id: 3, method: "eth_chainId" },
      { id: 4, method: "eth_getBalance", params: [ACCOUNT, "latest"] },
    ];
    const answers: unknown = await (await post(batch)).json();
    expect(answers).to.deep.equal(
      ["0x7", toQuantity(NUMBER + 1_000), "0x7", "0x7"].map(
        (result, index) => ({
          ...{ jsonrpc: "2.0", id: batch[index]?.id, result },
        }),
      ),
    );
    expect(
      server.bodies.flat().map(({ method, params }) => [method, ...params]),
    ).to.deep.equal([
      ["eth_getBalance", ACCOUNT, "latest"],
      ["eth_getBlockByNumber", AT, false],
    ]);
  });

  it("an error of the node is passed on as it is", async () => {
    const error = { code: -32_011, message: "not today" };
    server.handler = () => ({ error });
    expect(await ask("eth_gasPrice")).to.deep.equal({
      ...{ jsonrpc: "2.0", id: 7, error },
    });
    expect(fork.failure).to.equal(undefined);
  });

  for (const [what, method, ...params] of [
    ["the request", "eth_gasPrice"],
    ["a request for state of the block", "eth_getBalance", ACCOUNT, AT],
  ] as const) {
    it(`a failure of ${what} is told with the network's name, and kept`, async () => {
      server.handler = ({ response }) => {
        response.writeHead(403).end();
        return "handled";
      };
      expect(await ask(method, ...params)).to.have.nested.property(
        "error.code",
        -32_000,
      );
      expect(String(fork.failure)).to.contain("Network live");
    });
  }

  it("a fork has ended once the chain has replaced its block, and once it is closed", async () => {
    expect(fork.memo.ended).to.equal(undefined);
    server.handler = () => ({
      result: { number: AT, timestamp: "0x1", hash: id("other") },
    });
    await ask("eth_getBlockByNumber", AT, false);
    expect(fork.memo.ended?.code).to.equal("VAULT_FORK_REORGED");
    await fork.close();
    expect(fork.memo.ended?.code).to.equal("VAULT_FORK_CLOSED");
    expect(fork.memo.ended?.message).to.contain("network live");
  });

  it("the server and its folder are gone once the fork is closed", async () => {
    const { url, folder } = fork;
    expect(existsSync(folder)).to.equal(true);
    await fork.close();
    expect(existsSync(folder)).to.equal(false);
    const answered: unknown = await post({}, url).catch(String);
    expect(answered).to.equal("TypeError: fetch failed");
  });

  it("a server that nobody closes does not keep the process running", async () => {
    const servers = (): number =>
      process
        .getActiveResourcesInfo()
        .filter((name) => name === "TCPServerWrap").length;
    const before = servers();
    const other = await open();
    expect(servers()).to.equal(before);
    await other.close();
  });
});

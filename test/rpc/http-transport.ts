import { expect } from "chai";

import { HttpTransport } from "../../src/rpc/http-transport.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

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
    server.handler = ({ request: { id }, response }) => {
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: null, error }));
      return "handled";
    };
    transport = connect(10_000);
    const [end] = await Promise.allSettled([transport.request(chainId)]);
    expect(end).to.deep.equal({ status: "rejected", reason: error });
  });

  it("has the time of one request for the whole answer, however it is cut into pieces", async () => {
    server.handler = ({ request: { id }, response }) => {
      let pieces = 0;
      const timer = setInterval(() => {
        pieces += 1;
        if (pieces < 100) {
          response.write(" ");
        } else {
          clearInterval(timer);
          response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
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

import { expect } from "chai";

import { RpcClient, noRetries } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";

/** Answers with another id, so many times; then as it should. */
function exchanging(times: number, id: (own: number) => unknown): RpcHandler {
  let answered = 0;
  return ({ request, response }) => {
    answered += 1;
    const isExchanged = answered <= times && times !== Infinity;
    response.end(
      JSON.stringify({
        jsonrpc: "2.0",
        id: answered <= times ? id(Number(request.id)) : request.id,
        result: isExchanged ? "0x9" : "0x7",
      }),
    );
    return "handled";
  };
}

describe("answers to other requests on a connection of Hardhat", () => {
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({});
  });
  after(async () => {
    await server.stop();
  });

  it("a read refuses an answer with the id of another request", async () => {
    server.handler = exchanging(Infinity, (own) => own + 1);
    const { provider } = await connectTo(server.url);
    const rpc = new RpcClient(provider, "live").withRetries(noRetries);
    const { message } = await expectVaultError(
      rpc.request("eth_gasPrice"),
      "VAULT_RPC_INVALID_RESPONSE",
    );
    expect(message).to.contain("it has the id of another request");
  });

  it("a read shows nothing of such an id, which may hold a key", async () => {
    server.handler = exchanging(Infinity, () => "key-1".repeat(1_000));
    const { provider } = await connectTo(server.url);
    const rpc = new RpcClient(provider, "live").withRetries(noRetries);
    const { message } = await expectVaultError(
      rpc.request("eth_gasPrice"),
      "VAULT_RPC_INVALID_RESPONSE",
    );
    expect(message).to.not.contain("key-1");
  });

  it("a transaction is refused in the node's words, with any id", async () => {
    server.handler = ({ response }) => {
      const error = { code: -32_000, message: "insufficient funds" };
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 0, error }));
      return "handled";
    };
    const { provider } = await connectTo(server.url);
    const { message } = await expectVaultError(
      new RpcClient(provider, "live").request("eth_sendRawTransaction", ["0x"]),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.contain("insufficient funds");
  });

  it("a read asks again after such an answer", async () => {
    server.handler = exchanging(1, (own) => own + 1);
    const { provider } = await connectTo(server.url);
    const rpc = new RpcClient(provider, "live");
    expect(await rpc.request("eth_gasPrice")).to.equal("0x7");
  });

  it("two reads at the same time get no figure of each other if a gateway exchanges their answers", async () => {
    const waiting: Array<() => void> = [];
    const ids: unknown[] = [];
    server.handler = async ({ request, response }): Promise<"handled"> => {
      ids.push(request.id);
      if (ids.length === 2) {
        waiting.forEach((go) => go());
      } else if (ids.length === 1) {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      const other = ids.find((id) => id !== request.id) ?? request.id;
      const result = request.method === "eth_gasPrice" ? "0x7" : "0x5";
      response.end(JSON.stringify({ jsonrpc: "2.0", id: other, result }));
      return "handled";
    };
    const { provider } = await connectTo(server.url);
    const rpc = new RpcClient(provider, "live").withRetries(noRetries);
    const ends = await Promise.allSettled([
      rpc.request("eth_gasPrice"),
      rpc.request("eth_blockNumber"),
    ]);
    expect(ends.map(({ status }) => status)).to.deep.equal([
      "rejected",
      "rejected",
    ]);
  });

  for (const [how, id] of [
    ["no id", () => null],
    ["its id as a text", (own: number) => String(own)],
  ] as const) {
    it(`a read takes an answer with ${how}`, async () => {
      server.handler = exchanging(Infinity, id);
      const { provider } = await connectTo(server.url);
      const rpc = new RpcClient(provider, "live");
      expect(await rpc.request("eth_gasPrice")).to.equal("0x7");
    });
  }
});

import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";

import { expect } from "chai";

import { getGasPrice } from "../../src/rpc/chain.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { hardhatError } from "../helpers/foreign-errors.js";
import { connectTo } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const PRICE = "0x3b9aca00";
const whole = { jsonrpc: "2.0", id: 1, result: PRICE };
const refusal = {
  jsonrpc: "2.0",
  id: 1,
  error: { code: -32600, message: "bad key" },
};

describe("answers that Hardhat does not take", () => {
  speedUpTime();

  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({});
  });
  after(async () => {
    await server.stop();
  });

  async function ask(
    body: Buffer | string,
    status = 200,
    settings: { chainId?: number } = {},
  ): Promise<bigint> {
    server.requests.length = 0;
    server.handler = ({ response }) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body);
      return "handled";
    };
    const { provider } = await connectTo(server.url, settings);
    return await getGasPrice(new RpcClient(provider, "live"));
  }

  const read: Readonly<Record<string, object>> = {
    "a result without jsonrpc": { id: 1, result: PRICE },
    "a result without jsonrpc and id": { result: PRICE },
    "a result beside an empty error": { ...whole, error: {} },
    "a result beside an error that is false": { ...whole, error: false },
    "a result with a message beside it": {
      id: 1,
      result: PRICE,
      message: "OK",
    },
  };
  for (const [title, body] of Object.entries(read)) {
    it(`${title} is read`, async () => {
      expect(await ask(JSON.stringify(body))).to.equal(BigInt(PRICE));
    });
  }

  const refused: Readonly<Record<string, readonly [object, string]>> = {
    "an error without code and message": [
      { error: true, msg: "no such project" },
      "no such project",
    ],
    "an error that is true, beside a result": [
      { ...whole, error: true },
      PRICE,
    ],
    "a list of errors": [
      { errors: [{ message: "no such project" }] },
      "no such project",
    ],
    "a result that is the text of an error": [
      { status: "0", message: "NOTOK", result: "Invalid API Key" },
      "0: NOTOK: Invalid API Key",
    ],
    "a result beside a code": [
      { id: 1, result: PRICE, code: 7, message: "no such project" },
      "no such project",
    ],
    "an empty message": [
      { ...whole, error: { code: -32000, message: "" } },
      "it gave no reason",
    ],
  };
  for (const [title, [body, words]] of Object.entries(refused)) {
    it(`${title} is VAULT_RPC_ERROR with the node's words`, async () => {
      const { message } = await expectVaultError(
        ask(JSON.stringify(body)),
        "VAULT_RPC_ERROR",
      );
      expect(message).to.contain(`refused eth_gasPrice: ${words}`);
    });
  }

  it("an answer that came as gzip is read, though Hardhat does not unpack it", async () => {
    expect(await ask(gzipSync(JSON.stringify(whole)))).to.equal(BigInt(PRICE));
  });

  it("an answer is read, too, if the provider does not send through undici", async () => {
    const response = JSON.stringify({ result: PRICE });
    const request = async (): Promise<never> =>
      await Promise.reject(
        hardhatError("HHE702", { messageArguments: { response } }),
      );
    const rpc = new RpcClient({ request }, "live");
    expect(await getGasPrice(rpc)).to.equal(BigInt(PRICE));
  });

  it("an error that came as gzip with HTTP status 400 keeps the node's words", async () => {
    const { message } = await expectVaultError(
      ask(gzipSync(JSON.stringify(refusal)), 400),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.contain("bad key");
  });

  it("gzip that comes in several pieces is unpacked as a whole", async () => {
    // More than a piece holds.
    const noise = randomBytes(200_000).toString("hex");
    const body = gzipSync(JSON.stringify({ ...whole, noise }));
    expect(await ask(body)).to.equal(BigInt(PRICE));
  });

  it("gzip that is cut is VAULT_RPC_INVALID_RESPONSE that names the compression", async () => {
    const { message } = await expectVaultError(
      ask(gzipSync(JSON.stringify(whole)).subarray(0, 20)),
      "VAULT_RPC_INVALID_RESPONSE",
    );
    expect(message).to.contain("compressed (gzip) and cannot be unpacked");
  });

  it("gzip that unpacks to more than 64 MiB is not unpacked", async () => {
    const blanks = " ".repeat(64 * 2 ** 20);
    const { message } = await expectVaultError(
      ask(gzipSync(`${blanks}${JSON.stringify(whole)}`, { level: 1 })),
      "VAULT_RPC_INVALID_RESPONSE",
    );
    expect(message).to.contain("compressed (gzip) and cannot be unpacked");
  });

  it("JSON without a result or an error is VAULT_RPC_INVALID_RESPONSE that does not call it a web page", async () => {
    for (const body of ["{}", "[]"]) {
      const { message } = await expectVaultError(
        ask(body),
        "VAULT_RPC_INVALID_RESPONSE",
      );
      expect(message).to.contain("is JSON, but has no result and no error");
    }
  });

  it("the answer to a request that Hardhat sends first is not taken for the answer to ours", async () => {
    const { message } = await expectVaultError(
      ask(JSON.stringify({ id: 1, result: "0x7a69" }), 200, { chainId: 31337 }),
      "VAULT_RPC_INVALID_RESPONSE",
    );
    expect(server.requests.map(({ method }) => method)).to.not.include(
      "eth_gasPrice",
    );
    expect(message).to.contain("Hardhat sends net_version first");
  });
});

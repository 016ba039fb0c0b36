import { expect } from "chai";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type { VaultErrorCode } from "../../../src/errors.js";
import { Redactor } from "../../../src/foreign-text.js";
import { classify } from "../../../src/rpc/errors.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { connectTo } from "../../helpers/hre.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../../helpers/rpc-server.js";

/** As providers put it into the path, the query or the user part of a URL. */
const KEY = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
const refused = JSON.stringify({
  error: { code: -32000, message: `no such block of project ${KEY}` },
});
const JSON_TYPE = "application/json";

/**
 * What the server answers, by path: status, body, type of content. Parts of a URL
 * count as secrets in this process from then on, so no other test has these words.
 */
const pages: Readonly<
  Record<string, readonly [status: number, body: string, type?: string]>
> = {
  "/answer-page": [200, `<html>/v3/${KEY}</html>`],
  "/401": [401, `bad key ${KEY}`],
  "/answer-error": [400, refused, JSON_TYPE],
  "/answer-text": [400, refused, "text/plain"],
  "/answer-mainnet": [
    200,
    `{"jsonrpc":"2.0","id":null,"result":"0x1"}`,
    JSON_TYPE,
  ],
};

const answerPage: RpcHandler = ({ response }) => {
  const { pathname } = new URL(response.req.url ?? "", "http://node.test");
  const location = pathname.endsWith("moved") ? "page" : "circle";
  const [status, body, type = "text/html"] = pages[pathname] ?? [307, ""];
  if (pathname === "/answer-closed") {
    response.destroy();
    return "handled";
  }
  response.writeHead(status, {
    "content-type": type,
    ...(status === 307 ? { location: `/answer-${location}` } : {}),
  });
  response.end(body);
  return "handled";
};

describe("a request that fails on this side", () => {
  let plain: RpcServer;

  before(async () => {
    plain = await startRpcServer({ handler: answerPage });
    plain.proxyStatus = "407 Proxy Authentication Required";
  });
  afterEach(() => {
    delete process.env["http_proxy"];
    delete process.env["https_proxy"];
  });
  after(async () => {
    await plain.stop();
  });

  type Row = readonly [
    why: string,
    /** Where the node is, or a path of a node over HTTP. */
    url: string,
    message: RegExp,
    settings?: Partial<HttpNetworkUserConfig>,
  ];
  const badPath = { mnemonic: `${"test ".repeat(11)}junk`, path: "m/44/x" };
  const failures: Partial<Record<VaultErrorCode, readonly Row[]>> = {
    VAULT_NETWORK_UNREACHABLE: [
      ["the node answers 401", "/401?key=KEY", /HTTP status 401/u],
      ["it hangs up", "/answer-closed?key=KEY", /cannot be reached/u],
      [
        "none listens",
        "http://127.0.0.1:1/KEY",
        /ECONNREFUSED 127\.0\.0\.1:1/u,
      ],
      ["it has no TLS", "https://NODE/KEY", /not speak TLS.*http or https/u],
      ["it redirects to itself", "/answer-circle", /Redirect loop/u],
      ["its URL is a WebSocket's", "ws://NODE", /Invalid URL protocol/u],
      [
        "a header's name has a space",
        "",
        /invalid header key/u,
        { httpHeaders: { "my header": "h" } },
      ],
      [
        "a header's value has two lines",
        "",
        /invalid token header/u,
        { httpHeaders: { token: "t0p\ns3cret" } },
      ],
    ],
    VAULT_RPC_INVALID_RESPONSE: [
      ["the answer is a page", "/answer-page?key=KEY", /live.* not JSON/u],
      ["it redirects to one", "/answer-moved", /may lead or redirect to/u],
    ],
    VAULT_RPC_ERROR: [
      ["its error has status 400", "/answer-error?key=KEY", /no such block/u],
      ["its error is text", "/answer-text?key=KEY", /live.* no such block/u],
    ],
    VAULT_WRONG_CHAIN: [
      ["it is of another chain", "/answer-mainnet", /56/u, { chainId: 56 }],
    ],
    VAULT_HARDHAT_ERROR: [
      [
        "the mnemonic is none",
        "",
        /Invalid mnemonic/u,
        { accounts: { mnemonic: "zoo zoo" } },
      ],
      [
        "the HD path is none",
        "",
        /HHE717: HD path "m\/44\/x"/u,
        { accounts: badPath },
      ],
    ],
  };
  const expectFailure = async (
    code: VaultErrorCode,
    url: string,
    expected: RegExp,
    settings: Partial<HttpNetworkUserConfig> = {},
  ): Promise<void> => {
    const ask = async (): Promise<unknown> => {
      const { vault } = await connectTo(url, settings).catch(
        (error: unknown) => {
          // As a task opens it.
          throw classify(error, {
            network: "live",
            redactor: new Redactor(),
            isBehindHardhat: true,
          }).error;
        },
      );
      return await vault.rpc.request("eth_accounts");
    };
    const { message } = await expectVaultError(ask(), code);
    expect(message).to.match(expected);
    // Hardhat's own errors do not name the network.
    expect(message.includes("live")).to.equal(code !== "VAULT_HARDHAT_ERROR");
    expect(message).to.not.contain("node's own").and.not.contain(KEY);
    expect(message).to.not.contain("..");
  };
  for (const [code, rows] of Object.entries(failures)) {
    for (const [why, url, message, settings] of rows) {
      it(`throws ${code} with the cause and its setting, without the key, if ${why}`, async () => {
        const whole = url.includes("://") ? url : `http://NODE${url}`;
        await expectFailure(
          // a key of the table, which Object.entries forgets
          code as VaultErrorCode,
          whole.replace("NODE", new URL(plain.url).host).replace("KEY", KEY),
          message,
          settings,
        );
      });
    }
  }

  it("throws VAULT_NETWORK_UNREACHABLE if a proxy asks for a password", async () => {
    process.env["http_proxy"] = plain.url;
    process.env["https_proxy"] = plain.url;
    for (const protocol of ["http", "https"]) {
      await expectFailure(
        "VAULT_NETWORK_UNREACHABLE",
        `${protocol}://node.test/${KEY}`,
        /Proxy response \(407\).*https_proxy/u,
      );
    }
  });
});

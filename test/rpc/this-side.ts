import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { createServer as createTlsServer } from "node:https";

import { expect } from "chai";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type { VaultErrorCode } from "../../src/errors.js";
import { toRpcError } from "../../src/rpc/errors.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import { selfSigned } from "../helpers/self-signed.js";

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
  Record<string, readonly [status: number, body: string, type: string]>
> = {
  "/answer-page": [200, `<html>/v3/${KEY}</html>`, "text/html"],
  "/401": [401, `bad key ${KEY}`, "text/html"],
  "/answer-error": [400, refused, JSON_TYPE],
  "/answer-text": [400, refused, "text/plain"],
  "/400": [400, "{}", JSON_TYPE],
  "/answer-mainnet": [
    200,
    '{"jsonrpc":"2.0","id":1,"result":"0x1"}',
    JSON_TYPE,
  ],
};

/** A server that redirects, and as a proxy asks for a password. */
async function startServer(): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://node.test");
    const [status, body, type] = pages[pathname] ?? [302, "", "text/plain"];
    if (pathname === "/answer-closed") {
      response.destroy();
      return;
    }
    response.writeHead(status, {
      "content-type": type,
      ...(status === 302
        ? {
            location:
              pathname === "/answer-moved" ? "/answer-page" : "/answer-circle",
          }
        : {}),
    });
    response.end(body);
  });
  server.on("connect", (_request, socket) => {
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function portOf(server: Pick<Server, "address">): string {
  const address = server.address();
  return typeof address === "object" ? String(address?.port) : "";
}

describe("a request that fails on this side", () => {
  let plain: Server;
  let closedPort: string;
  let tls: ReturnType<typeof createTlsServer>;
  const proxies = { http_proxy: "", https_proxy: "" };

  before(async () => {
    const closed = await startServer();
    closedPort = portOf(closed);
    closed.close();
    plain = await startServer();
    tls = createTlsServer(selfSigned, (_request, response) => {
      response.end("{}");
    });
    tls.listen(0, "127.0.0.1");
    await once(tls, "listening");
  });
  afterEach(() => {
    for (const name of Object.keys(proxies)) {
      Reflect.deleteProperty(process.env, name);
    }
  });
  after(() => {
    plain.closeAllConnections();
    plain.close();
    tls.closeAllConnections();
    tls.close();
  });

  const asked = (): string => `127.0.0.1:${portOf(plain)}`;
  const words = "test test test test test test test test test test test junk";
  const cases: ReadonlyArray<
    readonly [
      name: string,
      url: () => string,
      settings: Partial<HttpNetworkUserConfig>,
      code: VaultErrorCode,
      said: readonly string[],
    ]
  > = [
    ...(
      [
        ["/401", "VAULT_NETWORK_UNREACHABLE", "answered HTTP status 401"],
        ["/answer-page", "VAULT_RPC_INVALID_RESPONSE", "not JSON"],
        ["/answer-error", "VAULT_RPC_ERROR", "no such block"],
        ["/answer-text", "VAULT_RPC_ERROR", "no such block"],
        ["/400", "VAULT_NETWORK_UNREACHABLE", "HTTP status 400"],
        ["/answer-closed", "VAULT_NETWORK_UNREACHABLE", "cannot be reached"],
      ] as const
    ).map(
      ([path, code, text]) =>
        [
          `the answer of ${path}`,
          () => `http://${asked()}${path}?key=${KEY}`,
          {},
          code,
          ["live", text],
        ] as const,
    ),
    [
      "a node that refuses the connection",
      () => `http://127.0.0.1:${closedPort}/v3/${KEY}`,
      {},
      "VAULT_NETWORK_UNREACHABLE",
      ["refused the connection", "127.0.0.1:"],
    ],
    [
      "a node of another chain",
      () => `http://${asked()}/answer-mainnet`,
      { chainId: 56 },
      "VAULT_WRONG_CHAIN",
      ["live", "56"],
    ],
    [
      "a certificate that is signed by itself",
      () => `https://127.0.0.1:${portOf(tls)}/${KEY}`,
      {},
      "VAULT_NETWORK_UNREACHABLE",
      ["the certificate of 127.0.0.1:", "NODE_EXTRA_CA_CERTS"],
    ],
    [
      "https on a port for http",
      () => `https://${asked()}/${KEY}`,
      {},
      "VAULT_NETWORK_UNREACHABLE",
      ["does not speak TLS", "Write http://"],
    ],
    [
      "a redirect in a circle",
      () => `http://${asked()}/answer-circle`,
      {},
      "VAULT_INVALID_ARGUMENT",
      ["networks.live.url: Redirect loop"],
    ],
    [
      "a redirect to a page",
      () => `http://${asked()}/answer-moved`,
      {},
      "VAULT_RPC_INVALID_RESPONSE",
      ["the URL may lead or redirect to"],
    ],
    [
      "a URL of WebSocket",
      () => `ws://${asked()}`,
      {},
      "VAULT_INVALID_ARGUMENT",
      ["networks.live.url: Invalid URL protocol"],
    ],
    [
      "the name of a header that is none",
      () => `http://${asked()}`,
      { httpHeaders: { "my header": "h" } },
      "VAULT_INVALID_ARGUMENT",
      ["networks.live.httpHeaders: invalid header key"],
    ],
    [
      "the value of a header that is none",
      () => `http://${asked()}`,
      { httpHeaders: { token: "t0p\ns3cret" } },
      "VAULT_INVALID_ARGUMENT",
      ["networks.live.httpHeaders: invalid token header"],
    ],
    [
      "a mnemonic that is none",
      () => `http://${asked()}`,
      { accounts: { mnemonic: "zoo zoo" } },
      "VAULT_INVALID_ARGUMENT",
      ["networks.live.accounts: Invalid mnemonic"],
    ],
    [
      "a derivation path that is none",
      () => `http://${asked()}`,
      { accounts: { mnemonic: words, path: "m/44/x" } },
      "VAULT_INVALID_ARGUMENT",
      ['networks.live.accounts: HHE717: HD path "m/44/x"'],
    ],
  ];
  const expectFailure = async (
    url: string,
    settings: Partial<HttpNetworkUserConfig>,
    code: VaultErrorCode,
    said: readonly string[],
  ): Promise<void> => {
    const ask = async (): Promise<unknown> => {
      const { provider } = await connectTo(url, settings).catch(
        (error: unknown) => {
          throw toRpcError(error, "live", "the connection");
        },
      );
      return await new RpcClient(provider, "live").request("eth_accounts");
    };
    const { message } = await expectVaultError(ask(), code);
    expect(message).to.not.contain("node's own").and.not.contain(KEY);
    expect(message).to.not.contain("..");
    for (const text of said) {
      expect(message).to.contain(text);
    }
  };
  for (const [name, url, settings, code, said] of cases) {
    it(`is an error with its cause and its setting, without the key: ${name}`, async () => {
      await expectFailure(url(), settings, code, said);
    });
  }

  it("is an error with its cause and its setting, without the key: a proxy that asks for a password", async () => {
    Object.assign(process.env, {
      http_proxy: `http://${asked()}`,
      https_proxy: `http://${asked()}`,
    });
    for (const protocol of ["http", "https"]) {
      await expectFailure(
        `${protocol}://node.test/${KEY}`,
        {},
        "VAULT_NETWORK_UNREACHABLE",
        [
          "the proxy in front of node.test answered HTTP status 407",
          "https_proxy",
        ],
      );
    }
  });
});

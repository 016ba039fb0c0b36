import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import path from "node:path";

import { expect } from "chai";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type { VaultErrorCode } from "../../src/errors.js";
import { Redactor } from "../../src/redact.js";
import { toRpcError } from "../../src/rpc/errors.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { runHardhat } from "../helpers/cli.js";
import { documentedContracts } from "../helpers/documented-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
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
  Record<string, readonly [status: number, body: string, type?: string]>
> = {
  "/answer-page": [200, `<html>/v3/${KEY}</html>`],
  "/401": [401, `bad key ${KEY}`],
  "/answer-error": [400, refused, JSON_TYPE],
  "/answer-text": [400, refused, "text/plain"],
  "/400": [400, "{}", JSON_TYPE],
  "/answer-mainnet": [
    200,
    `{"jsonrpc":"2.0","id":1,"result":"0x1"}`,
    JSON_TYPE,
  ],
};

/** A server that redirects, and as a proxy asks for a password. */
async function startServer(): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://node.test");
    const location = pathname.endsWith("moved") ? "page" : "circle";
    const [status, body, type = "text/html"] = pages[pathname] ?? [302, ""];
    if (pathname === "/answer-closed") {
      response.destroy();
      return;
    }
    response.writeHead(status, {
      "content-type": type,
      ...(status === 302 ? { location: `/answer-${location}` } : {}),
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
  let tls: ReturnType<typeof createTlsServer>;

  before(async () => {
    plain = await startServer();
    tls = createTlsServer(selfSigned, (_request, response) => {
      response.end("{}");
    });
    tls.listen(0, "127.0.0.1");
    await once(tls, "listening");
  });
  afterEach(() => {
    delete process.env["http_proxy"];
    delete process.env["https_proxy"];
  });
  after(() => {
    plain.closeAllConnections();
    plain.close();
    tls.closeAllConnections();
    tls.close();
  });

  const asked = (): string => `127.0.0.1:${portOf(plain)}`;
  const accounts = {
    mnemonic: `${"test ".repeat(11)}junk`,
    path: "m/44/x",
  };
  const cases: Readonly<
    Partial<
      Record<
        VaultErrorCode,
        ReadonlyArray<
          readonly [
            url: string,
            message: RegExp,
            settings?: Partial<HttpNetworkUserConfig>,
          ]
        >
      >
    >
  > = {
    VAULT_NETWORK_UNREACHABLE: [
      ["http://NODE/401?key=KEY", /live.* answered HTTP status 401/u],
      ["http://NODE/400?key=KEY", /live.* HTTP status 400/u],
      ["http://NODE/answer-closed?key=KEY", /live.* cannot be reached/u],
      ["http://127.0.0.1:1/v3/KEY", /127\.0\.0\.1:1 refused the connection/u],
      // A certificate signed by itself, and https on a port for http.
      ["https://TLS/KEY", /certificate of 127.*NODE_EXTRA_CA_CERTS/u],
      ["https://NODE/KEY", /does not speak TLS.*Write http:/u],
    ],
    VAULT_RPC_INVALID_RESPONSE: [
      ["http://NODE/answer-page?key=KEY", /live.* not JSON/u],
      ["http://NODE/answer-moved", /the URL may lead or redirect to/u],
    ],
    VAULT_RPC_ERROR: [
      ["http://NODE/answer-error?key=KEY", /live.* no such block/u],
      ["http://NODE/answer-text?key=KEY", /live.* no such block/u],
    ],
    VAULT_WRONG_CHAIN: [
      ["http://NODE/answer-mainnet", /live.*56/u, { chainId: 56 }],
    ],
    VAULT_INVALID_ARGUMENT: [
      ["http://NODE/answer-circle", /networks\.live\.url: Redirect loop/u],
      ["ws://NODE", /networks\.live\.url: Invalid URL protocol/u],
      [
        "http://NODE",
        /networks\.live\.httpHeaders: invalid header key/u,
        { httpHeaders: { "my header": "h" } },
      ],
      [
        "http://NODE",
        /networks\.live\.httpHeaders: invalid token header/u,
        { httpHeaders: { token: "t0p\ns3cret" } },
      ],
      [
        "http://NODE",
        /networks\.live\.accounts: Invalid mnemonic/u,
        { accounts: { mnemonic: "zoo zoo" } },
      ],
      [
        "http://NODE",
        /networks\.live\.accounts: HHE717: HD path "m\/44\/x"/u,
        { accounts },
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
      const { provider } = await connectTo(url, settings).catch(
        (error: unknown) => {
          // As a task opens it.
          throw toRpcError(error, "live", "it", new Redactor(), true);
        },
      );
      return await new RpcClient(provider, "live").request("eth_accounts");
    };
    const { message } = await expectVaultError(ask(), code);
    expect(message).to.match(expected);
    expect(message).to.not.contain("node's own").and.not.contain(KEY);
    expect(message).to.not.contain("..");
  };
  for (const [code, rows] of Object.entries(cases)) {
    for (const [url, message, settings] of rows) {
      it(`is ${code} with its cause and its setting, without the key: ${url} ${String(message)}`, async () => {
        await expectFailure(
          // a key of the table, which Object.entries forgets
          code as VaultErrorCode,
          url
            .replace("NODE", asked())
            .replace("TLS", `127.0.0.1:${portOf(tls)}`)
            .replace("KEY", KEY),
          message,
          settings,
        );
      });
    }
  }

  it("is VAULT_NETWORK_UNREACHABLE for a trusted certificate of another name", async () => {
    const project = await useFixtureProject("plain");
    const trusted = path.join(project.path, "authority.pem");
    await writeFile(trusted, selfSigned.cert);
    const { stderr, exitCode } = await runHardhat(
      ["vault", "volume", "--network", "test"],
      {
        cwd: project.path,
        env: {
          TEST_URL: `https://127.0.0.1:${portOf(tls)}`,
          TEST_VAULT: JSON.stringify({ contracts: documentedContracts }),
          // Node.js reads it when it starts.
          NODE_EXTRA_CA_CERTS: trusted,
        },
      },
    );
    await project.remove();
    expect(stderr.replaceAll(/\s+/gu, " "))
      .to.match(/certificate of .* is for another name\. Correct the host/u)
      .and.not.include("NODE_EXTRA_CA_CERTS");
    expect(exitCode).to.equal(1);
  });

  it("is VAULT_NETWORK_UNREACHABLE if a proxy asks for a password", async () => {
    process.env["http_proxy"] = `http://${asked()}`;
    process.env["https_proxy"] = `http://${asked()}`;
    for (const protocol of ["http", "https"]) {
      await expectFailure(
        "VAULT_NETWORK_UNREACHABLE",
        `${protocol}://node.test/${KEY}`,
        /the proxy in front of node\.test answered HTTP status 407.*https_proxy/u,
      );
    }
  });
});

import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer } from "node:http";
import type { Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { VAULT } from "../helpers/scripted-contracts.js";

const BLANKS = Buffer.alloc(2 ** 20, " ");

/** Sends blanks until the client goes away; counts them in MiB. */
async function sendBlanks(
  response: ServerResponse,
  pauseMs: number,
): Promise<number> {
  let sent = 0;
  while (!response.closed) {
    response.write(BLANKS);
    sent += 1;
    await sleep(pauseMs);
  }
  return sent;
}

describe("an answer without an end", () => {
  let server: Server;
  let ended: Promise<number>;
  let pauseMs = 1;

  before(async () => {
    server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      ended = sendBlanks(response, pauseMs);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const connect = async (settings: NetworkSettings = {}) => {
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    return await connectTo(`http://127.0.0.1:${port}`, {
      ...settings,
      vault: { contracts: { vault: VAULT } },
    });
  };

  it("throws VAULT_RPC_INVALID_RESPONSE at 64 MiB, and closes the connection", async () => {
    pauseMs = 1;
    const { vault } = await connect();
    const { message } = await expectVaultError(
      vault.queryVolume(),
      "VAULT_RPC_INVALID_RESPONSE",
    );
    expect(message).to.contain("longer than 64 MiB");
    expect(await ended).to.be.below(1_000);
  });

  it("is closed at the network's timeout, with VAULT_RPC_TIMEOUT, though each piece of it comes earlier", async () => {
    pauseMs = 50;
    const { vault } = await connect({ timeout: 300 });
    await expectVaultError(vault.queryVolume(), "VAULT_RPC_TIMEOUT");
    expect(await ended).to.be.below(64);
  });

  it("is closed at the deadline, with VAULT_RPC_TIMEOUT", async () => {
    pauseMs = 100;
    const { vault } = await connect();
    await expectVaultError(
      vault.queryVolume({ timeout: 500 }),
      "VAULT_RPC_TIMEOUT",
    );
    expect(await ended).to.be.below(64);
  });
});

describe("an aborted signal", () => {
  it("ends reads, lists and simulations with its reason, and closes their connections", async () => {
    const stop = new AbortController();
    const { signal } = stop;
    const isClosed: Array<Promise<unknown>> = [];
    const server = await startRpcServer({
      handler: ({ response }) => {
        isClosed.push(once(response, "close"));
        if (isClosed.length === 4) {
          stop.abort("enough");
        }
        return "handled";
      },
    });
    const { vault } = await connectTo(server.url, {
      vault: { contracts: { vault: VAULT, trading: VAULT } },
    });
    const work = [
      vault.queryVolume({ signal }),
      vault.snapshot({ signal }),
      vault.orders({ signal, ids: [1] }).next(),
      vault.simulateSettleAll({ signal }),
    ];
    const ends = await Promise.allSettled(work);
    const ended = { status: "rejected", reason: "enough" };
    expect(ends).to.deep.equal(work.map(() => ended));
    await Promise.all(isClosed);
    await server.stop();
  });
});

describe("a request that Hardhat repeats by itself", () => {
  it("ends at the deadline with the HTTP status that the node answered", async () => {
    const server = await startRpcServer({
      handler: ({ response }) => {
        response.writeHead(429).end();
        return "handled";
      },
    });
    const { vault } = await connectTo(server.url, {
      vault: { contracts: { vault: VAULT } },
    });
    const { message } = await expectVaultError(
      vault.queryVolume({ timeout: 300 }),
      "VAULT_NETWORK_UNREACHABLE",
    );
    await server.stop();
    expect(message).to.contain("answered HTTP status 429");
  });

  it("has the whole time for the answer that comes in the end", async () => {
    const server = await startRpcServer({
      handler: ({ response, occurrence }) => {
        if (occurrence > 0) {
          return { result: "0x1f" };
        }
        response.writeHead(429, { "retry-after": "1" }).end("{}");
        return "handled";
      },
    });
    const { vault } = await connectTo(server.url, { timeout: 600 });
    expect(await vault.chainId()).to.equal(31);
    expect(server.requests).to.have.lengthOf(2);
    await server.stop();
  });

  it("ends with the reason of an aborted signal", async () => {
    const stop = new AbortController();
    const server = await startRpcServer({
      handler: ({ response }) => {
        response.writeHead(429).end(() => {
          setTimeout(() => {
            stop.abort("enough");
          }, 50);
        });
        return "handled";
      },
    });
    const { vault } = await connectTo(server.url, {
      vault: { contracts: { vault: VAULT } },
    });
    const [end] = await Promise.allSettled([
      vault.queryVolume({ signal: stop.signal }),
    ]);
    await server.stop();
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });
});

describe("a request that Hardhat sends before ours", () => {
  it("leaves ours its deadline, at which its connection is closed", async () => {
    let isClosed: Promise<unknown> | undefined;
    const server = await startRpcServer({
      handler: ({ request: { method }, response }) => {
        if (method === "eth_call") {
          isClosed = once(response, "close");
          return "handled";
        }
        return { result: "0x1f" };
      },
    });
    const { vault } = await connectTo(server.url, {
      chainId: 31,
      vault: { contracts: { vault: VAULT } },
    });
    await expectVaultError(
      vault.queryVolume({ timeout: 500 }),
      "VAULT_RPC_TIMEOUT",
    );
    await isClosed;
    expect(server.requests.map(({ method }) => method)).to.deep.equal([
      "eth_chainId",
      "eth_call",
    ]);
    await server.stop();
  });
});

describe("a request whose signal is aborted before it has a connection", () => {
  it("is not sent", async () => {
    const stop = new AbortController();
    const server = await startRpcServer({
      handler: () => ({ result: `0x${"7".padStart(64, "0")}` }),
    });
    const { vault } = await connectTo(server.url, {
      vault: { contracts: { vault: VAULT } },
    });
    const abort = (): void => {
      stop.abort("enough");
    };
    subscribe("undici:request:create", abort);
    const [end] = await Promise.allSettled([
      vault.queryVolume({ signal: stop.signal }),
    ]);
    unsubscribe("undici:request:create", abort);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
    expect(await vault.queryVolume()).to.equal(7n);
    expect(server.requests).to.have.lengthOf(1);
    await server.stop();
  });
});

describe("a network whose timeout is 0, which is no limit", () => {
  it("reads answers", async () => {
    const server = await startRpcServer({
      handler: () => ({ result: "0x1f" }),
    });
    const { vault } = await connectTo(server.url, { timeout: 0 });
    expect(await vault.chainId()).to.equal(31);
    await server.stop();
  });
});

describe("a provider that never answers, and holds no connection", () => {
  it("keeps the process until the deadline, which then says so", async () => {
    const script = `
      const { VaultClient } = await import(${JSON.stringify(import.meta.resolve("../../src/client/index.js"))});
      const provider = { request: () => new Promise(() => {}) };
      const vault = new VaultClient(provider, { vault: "${VAULT}" });
      await vault.queryVolume({ timeout: 300 }).catch(({ code }) => console.log(code));`;
    const options = ["--import", "tsx", "--input-type=module", "--eval"];
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...options,
      script,
    ]);
    expect(stdout).to.equal("VAULT_RPC_TIMEOUT\n");
  });
});

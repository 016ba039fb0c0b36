import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

import { toQuantity } from "ethers";

import { assertInvariant, hasErrorCode } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import { toRpcError } from "../rpc/errors.js";
import { Memo } from "./memo.js";
import type { Upstream } from "./memo.js";

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

/** JSON-RPC error code of a server error. */
const SERVER_ERROR = -32_000;

/**
 * The simulator asks once for each value of a block that is so far below the newest, and
 * else again in each call: its own limit is 128 on most chains.
 */
const DEEP = 1_000;

/** Loopback server from which Hardhat's simulator reads what a {@link Memo} has. */
export class ForkServer {
  public readonly memo: Memo;
  /** Nobody can guess it: other users of this machine must not reach the node. */
  readonly #path = `/${randomBytes(24).toString("hex")}`;
  readonly #server: Server;
  #failure: unknown;

  /**
   * @param folder Empty folder for the simulator, which must have one. Its own is kept by
   * port, and another fork on that port would read it.
   */
  private constructor(
    private readonly upstream: Upstream,
    public readonly folder: string,
  ) {
    this.memo = new Memo(upstream);
    this.#server = createServer((request, response) => {
      this.#respond(request).then(
        (answer) => {
          response.statusCode = answer === undefined ? 404 : 200;
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify(answer));
        },
        () => response.destroy(),
      );
    });
    // A kept connection must not close while the simulator sends on it.
    this.#server.keepAliveTimeout = 0;
    // A fork that nobody closes does not keep the process alive.
    this.#server.on("connection", (socket) => socket.unref());
    this.#server.unref();
  }

  public static async open(upstream: Upstream): Promise<ForkServer> {
    const folder = await mkdtemp(path.join(tmpdir(), "vault-fork-"));
    const opened = new ForkServer(upstream, folder);
    opened.#server.listen(0, "127.0.0.1");
    await once(opened.#server, "listening");
    return opened;
  }

  public get url(): string {
    const address = this.#server.address();
    assertInvariant(
      typeof address === "object" && address !== null,
      "the server of a closed fork was asked for its address",
    );
    return `http://127.0.0.1:${address.port}${this.#path}`;
  }

  /** The last error of this fork's requests that no node has sent, if there was one. */
  public get failure(): unknown {
    return this.#failure;
  }

  public async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await Promise.all([
      this.memo.close(),
      // The simulator may still write to it.
      rm(this.folder, { recursive: true, force: true, maxRetries: 3 }),
    ]);
  }

  async #respond(request: IncomingMessage): Promise<unknown> {
    if (request.method !== "POST" || request.url !== this.#path) {
      return undefined;
    }
    const body: unknown = JSON.parse(await text(request));
    return Array.isArray(body)
      ? await Promise.all(
          listOf(body).map(async (one) => await this.#answer(one)),
        )
      : await this.#answer(body);
  }

  async #answer(request: unknown): Promise<object> {
    const { id = null, method, params } = asRecord(request);
    const call = { method: String(method), params: listOf(params) };
    try {
      const result =
        call.method === "eth_blockNumber"
          ? toQuantity(this.upstream.number + DEEP)
          : await this.memo.get(call);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      return { jsonrpc: "2.0", id, error: this.#toJson(error) };
    }
  }

  /** An error of a node is passed on. */
  #toJson(error: unknown): object {
    if (hasErrorCode(error, "VAULT_RPC_ERROR")) {
      const { rpcCode: code = SERVER_ERROR, problem: message } = error.details;
      return { code, message };
    }
    this.#failure = error;
    const { message } = toRpcError(error, FORK_REQUESTS, this.upstream);
    return { code: SERVER_ERROR, message };
  }
}

const servers = new WeakMap<object, ForkServer>();

/** The server closes with this connection. */
export function bindForkServer(connection: object, server: ForkServer): void {
  servers.set(connection, server);
}

export async function closeForkServer(connection: object): Promise<void> {
  const server = servers.get(connection);
  servers.delete(connection);
  await server?.close();
}

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

import { assertInvariant, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import { toRpcError } from "../rpc/errors.js";
import { BlockCache } from "./block-cache.js";
import type { PinnedBlock } from "./block-cache.js";
import { FORK_REQUESTS } from "./upstream.js";
import type { UpstreamAnswer, UpstreamSettings } from "./upstream.js";

/** JSON-RPC error code of a server error. */
const SERVER_ERROR = -32_000;

/**
 * Loopback server between Hardhat's simulator and a node. It answers requests for state
 * of its block from the block's cache, which asks for all others. It adds the network's
 * headers to requests, and returns no header of a response.
 */
export class ForkCache {
  /** Nobody can guess it: other users of this machine must not reach the node. */
  readonly #path = `/${randomBytes(24).toString("hex")}`;
  readonly #server: Server;
  readonly #upstream: UpstreamSettings;
  #failure: unknown;
  #closed: VaultError | undefined;

  /**
   * @param folder Empty folder for the simulator, which must have one. Its own is kept by
   * port, and another fork on that port would read it.
   */
  private constructor(
    { upstream }: PinnedBlock,
    public readonly block: BlockCache,
    public readonly folder: string,
  ) {
    this.#upstream = upstream;
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

  public static async open(pinned: PinnedBlock): Promise<ForkCache> {
    const block = await BlockCache.open(pinned);
    const folder = await mkdtemp(path.join(tmpdir(), "vault-fork-"));
    const cache = new ForkCache(pinned, block, folder);
    cache.#server.listen(0, "127.0.0.1");
    await once(cache.#server, "listening");
    return cache;
  }

  public get url(): string {
    const address = this.#server.address();
    assertInvariant(
      typeof address === "object" && address !== null,
      "the cache of a closed fork was asked for its address",
    );
    return `http://127.0.0.1:${address.port}${this.#path}`;
  }

  /** The last error of this fork's requests that no node has sent, if there was one. */
  public get failure(): unknown {
    return this.#failure;
  }

  /** The reason why the fork reads nothing more, if there is one. */
  public get ended(): VaultError | undefined {
    return this.#closed ?? this.block.ended;
  }

  public async close(): Promise<void> {
    const { network } = this.#upstream;
    this.#closed = vaultError("VAULT_FORK_CLOSED", { network });
    this.#server.close();
    this.#server.closeAllConnections();
    await Promise.all([
      this.block.close(),
      // The simulator may still write to it.
      rm(this.folder, { recursive: true, force: true, maxRetries: 3 }),
    ]);
  }

  async #respond(request: IncomingMessage): Promise<unknown> {
    if (request.method !== "POST" || request.url !== this.#path) {
      return undefined;
    }
    const body: unknown = JSON.parse(await text(request));
    const requests = Array.isArray(body) ? listOf(body) : [body];
    const calls = requests.map(asRecord).map(({ method, params }) => ({
      ...{ method: String(method), params: listOf(params) },
    }));
    const answers = (await this.block.answer(calls)).map((answer, index) => {
      const { id = null } = asRecord(requests[index]);
      return { jsonrpc: "2.0", id, ...this.#toJson(answer) };
    });
    return Array.isArray(body) ? answers : answers[0];
  }

  /** An error of a node is passed on as it is. */
  #toJson(answer: UpstreamAnswer): UpstreamAnswer {
    if ("result" in answer || isNodesError(answer.error)) {
      return answer;
    }
    this.#failure = answer.error;
    const { network, redactor } = this.#upstream;
    const { message } = toRpcError(
      answer.error,
      network,
      FORK_REQUESTS,
      redactor,
    );
    return { error: { code: SERVER_ERROR, message } };
  }
}

function isNodesError(error: unknown): boolean {
  return error !== undefined && !(error instanceof Error);
}

const caches = new WeakMap<object, ForkCache>();

/** The cache closes with this connection. */
export function bindForkCache(connection: object, cache: ForkCache): void {
  caches.set(connection, cache);
}

export async function closeForkCache(connection: object): Promise<void> {
  const cache = caches.get(connection);
  caches.delete(connection);
  await cache?.close();
}

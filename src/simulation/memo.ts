import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

import { isAddress, isHexString, toQuantity } from "ethers";

import { fallbackTo, hasErrorCode, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import type { Redactor } from "../redact.js";
import {
  BATCH,
  BLOCK_METHOD,
  KnownNode,
  RpcClient,
  fewRetries,
} from "../rpc/rpc-client.js";
import type { CallRequest } from "../rpc/calls.js";
import { CHAIN_METHOD, parseChainId } from "../rpc/chain.js";
import { classify } from "../rpc/errors.js";
import { HttpTransport } from "../rpc/http-transport.js";
import type { HttpSettings } from "../rpc/http-transport.js";
import {
  isReorganised,
  readOnBranch,
  requestAt,
  requireSameBranch,
} from "../rpc/blocks.js";

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

export interface UpstreamCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The node behind a fork, and the block that is forked. */
export interface Upstream extends HttpSettings {
  /** Name of the network in error texts. */
  readonly network: string;
  /** Knows the secrets that the node may repeat. */
  readonly redactor: Redactor;
  readonly number: number;
  readonly hash: string;
  /** Ends all requests. */
  readonly signal?: AbortSignal | undefined;
}

/** State to fetch before it is needed. */
export interface WarmPlan {
  /** Each is made on the state of the block. */
  readonly calls: readonly CallRequest[];
  /** Accounts that are read without a call. */
  readonly accounts: readonly string[];
}

/** Most nodes take as many calls in one batch. */
const BATCH_SIZE = 100;

/** Methods for state, with the place of the block among the parameters. */
const stateMethods: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
};

/** Their answers are the same on each branch. */
const timelessMethods: readonly string[] = [CHAIN_METHOD, "net_version"];

const SERVER_ERROR = -32_000;

/**
 * The simulator asks once for each value of a block that is so far below the newest, and
 * else again in each call: its own limit is 128 on most chains.
 */
const DEEP = 1_000;

/**
 * What a fork reads from its node: each value once, and all of one branch of the chain.
 * State of the block is asked for by the block's hash (EIP-1898). After what else is read,
 * and all that a node without hashes answers, the hash at the block's number is compared.
 *
 * Hardhat's simulator reads it from a server on loopback.
 */
export class Memo {
  readonly #values = new Map<string, Promise<unknown>>();
  readonly #transport: HttpTransport;
  readonly #rpc: RpcClient;
  readonly #over = new AbortController();
  /** Nobody can guess it: other users of this machine must not reach the node. */
  readonly #path = `/${randomBytes(24).toString("hex")}`;
  readonly #server: Server;
  #warming: Promise<void> = Promise.resolve();
  /** Of the server. */
  public url = "";
  /** The reason why nothing more is read, if there is one. */
  public ended: VaultError | undefined;
  /** The last error of this fork's requests that no node has sent, if there was one. */
  public failure: unknown;

  /**
   * @param folder Empty folder for the simulator, which must have one. Its own is kept by
   * port, and another fork on that port would read it.
   */
  private constructor(
    private readonly upstream: Upstream,
    public readonly folder: string,
  ) {
    const { network, redactor, number, signal } = upstream;
    this.#transport = new HttpTransport(upstream);
    const node = new KnownNode(redactor);
    // Of several nodes behind the URL, one may still be behind.
    node.noteBlock(number);
    this.#rpc = new RpcClient(this.#transport, network, node)
      .withOptions({ signal })
      .withOptions({ signal: this.#over.signal })
      .withRetries(fewRetries);
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

  public static async open(upstream: Upstream): Promise<Memo> {
    const folder = await mkdtemp(path.join(tmpdir(), "vault-fork-"));
    const opened = new Memo(upstream, folder);
    opened.#server.listen(0, "127.0.0.1");
    await once(opened.#server, "listening");
    const { port } = asRecord(opened.#server.address());
    opened.url = `http://127.0.0.1:${String(port)}${opened.#path}`;
    return opened;
  }

  /**
   * Fetches what Hardhat's simulator begins with: it ends the process if it does not get the
   * block.
   *
   * @returns The id of the chain.
   */
  public async begin(): Promise<number> {
    const at = toQuantity(this.upstream.number);
    const block = { method: BLOCK_METHOD, params: [at, true] };
    const chain = { method: CHAIN_METHOD, params: [] };
    await this.fetch([
      block,
      chain,
      { method: BLOCK_METHOD, params: [at, false] },
      { method: "net_version", params: [] },
    ]);
    await this.get(block);
    return parseChainId(this.upstream.network, await this.get(chain));
  }

  /** The connection of the fork ends this, too. */
  public closeWith(connection: { close: () => Promise<void> }): void {
    const close = connection.close.bind(connection);
    connection.close = async () => {
      await close();
      await this.close();
    };
  }

  public async close(): Promise<void> {
    const { network } = this.upstream;
    this.ended = vaultError("VAULT_FORK_CLOSED", { network });
    this.#over.abort(this.ended);
    this.#server.close();
    this.#server.closeAllConnections();
    await Promise.all([
      this.#transport.close(),
      // The simulator may still write to it.
      rm(this.folder, { recursive: true, force: true, maxRetries: 3 }),
    ]);
  }

  /** @throws VaultError VAULT_FORK_REORGED once the chain has replaced the block */
  public async get(call: UpstreamCall): Promise<unknown> {
    const key = keyOf(call);
    if (!this.#values.has(key) && call.method in stateMethods) {
      await this.#warming;
    }
    const value = this.#values.get(key) ?? this.#read(call);
    this.#values.set(key, value);
    // An error is no value: the next one to need it asks again.
    value.catch(() => this.#values.delete(key));
    return await value;
  }

  /**
   * Fetches values in few requests: state of the block, its header, and what is the same on
   * each branch. What fails is left to {@link get}.
   */
  public async fetch(calls: readonly UpstreamCall[]): Promise<void> {
    const { hash: blockHash } = this.upstream;
    const byHash = { blockHash, requireCanonical: true };
    let results = await this.#ask(
      calls.map((call) => this.#at(call, byHash) ?? call),
    );
    if (results.every((result) => result === undefined)) {
      // The node may take no hashes.
      results = await this.#ask(calls);
      await this.requireSameBranch();
    }
    for (const [index, call] of calls.entries()) {
      const result = results[index];
      if (this.#isValue(call, result)) {
        this.#values.set(keyOf(call), Promise.resolve(result));
      }
    }
  }

  /**
   * Fetches what calls read, in two steps: the access lists of the calls, then the values
   * that they name. Reads of state wait for it, and work without it.
   */
  public warm(plan: () => Promise<WarmPlan> | WarmPlan): void {
    const fill = async (): Promise<void> => {
      const { calls, accounts } = await plan();
      const at = toQuantity(this.upstream.number);
      const method = "eth_createAccessList";
      const lists = await this.#ask(
        calls.map((call) => ({ method, params: [call, at] })),
      );
      const known = new Set(
        [...accounts, ...calls.flatMap(({ from, to }) => [from, to])].map(
          (address) => address.toLowerCase(),
        ),
      );
      const slots = new Set<string>();
      for (const list of lists) {
        for (const entry of listOf(asRecord(list)["accessList"])) {
          const { address, storageKeys } = asRecord(entry);
          if (isAddress(address)) {
            known.add(address.toLowerCase());
            for (const key of listOf(storageKeys)) {
              slots.add(`${address.toLowerCase()} ${String(key)}`);
            }
          }
        }
      }
      const ofAccounts = [...known].flatMap((address) =>
        ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map(
          (name) => ({ method: name, params: [address, at] }),
        ),
      );
      const ofStorage = [...slots].map((slot) => ({
        method: "eth_getStorageAt",
        params: [...slot.split(" "), at],
      }));
      await this.fetch([...ofAccounts, ...ofStorage]);
    };
    // A failure here comes again when the value is needed.
    this.#warming = fill().catch(() => undefined);
  }

  /** @throws VaultError VAULT_FORK_REORGED if the chain has replaced the block */
  public async requireSameBranch(): Promise<void> {
    await this.#ofBranch(async () => {
      await requireSameBranch(this.#rpc, this.upstream);
    });
  }

  /** Asks in batches, else one by one. @returns Undefined for what fails. */
  async #ask(calls: readonly UpstreamCall[]): Promise<readonly unknown[]> {
    // In time for a node that takes five requests a second.
    const batches = this.#rpc.withRetries(fewRetries, 6);
    const alone = async ({ method, params }: UpstreamCall): Promise<unknown> =>
      await this.#rpc.request(method, params).catch(fallbackTo(undefined));
    const answers: Array<Promise<readonly unknown[]>> = [];
    for (let start = 0; start < calls.length; start += BATCH_SIZE) {
      const batch = calls.slice(start, start + BATCH_SIZE);
      const asked = batches.request(BATCH, batch).then(listOf);
      answers.push(
        asked
          .catch(fallbackTo(undefined))
          .then((all) => all ?? Promise.all(batch.map(alone))),
      );
    }
    return (await Promise.all(answers)).flat();
  }

  async #read(call: UpstreamCall): Promise<unknown> {
    const { method, params } = call;
    const rpc = this.#rpc;
    const ofBlock = async (block: unknown): Promise<unknown> =>
      await rpc.request(method, this.#at(call, block)?.params ?? params);
    return await this.#ofBranch(async () => {
      const isState = this.#at(call, undefined) !== undefined;
      const result = isState
        ? await readOnBranch(
            rpc,
            this.upstream,
            async () => await requestAt(rpc, this.upstream, ofBlock),
          )
        : await ofBlock(undefined);
      if (!isState && !timelessMethods.includes(method)) {
        await requireSameBranch(rpc, this.upstream);
      }
      if (!this.#isValue(call, result)) {
        throw rpc.parser(method).invalid("the value has another form");
      }
      return result;
    });
  }

  async #ofBranch<T>(read: () => Promise<T>): Promise<T> {
    if (this.ended !== undefined) {
      throw this.ended;
    }
    try {
      return await read();
    } catch (error) {
      if (!isReorganised(error)) {
        throw error;
      }
      const { network, number: block, hash: expected } = this.upstream;
      const found = String(error.details["found"]);
      const details = { network, block, expected, found };
      this.ended ??= vaultError("VAULT_FORK_REORGED", details);
      throw this.ended;
    }
  }

  /** Names the block otherwise. @returns Undefined for a call that asks for no state of it. */
  #at(
    { method, params }: UpstreamCall,
    block: unknown,
  ): UpstreamCall | undefined {
    const place = stateMethods[method];
    return place !== undefined && this.#isBlock(params[place])
      ? { method, params: params.with(place, block) }
      : undefined;
  }

  #isBlock(block: unknown): boolean {
    return isHexString(block) && Number(block) === this.upstream.number;
  }

  /**
   * False for another form of value, of which the simulator would take null and `0x` for 0,
   * and for the block of another branch.
   */
  #isValue({ method, params }: UpstreamCall, result: unknown): boolean {
    if (method === BLOCK_METHOD && this.#isBlock(params[0])) {
      const { hash } = asRecord(result);
      return String(hash).toLowerCase() === this.upstream.hash.toLowerCase();
    }
    return method === "eth_getCode"
      ? isHexString(result, true)
      : method in stateMethods || method === CHAIN_METHOD
        ? isHexString(result) && /^0x.{1,64}$/u.test(result)
        : result !== undefined;
  }

  /** @returns Undefined for who does not know the path. */
  async #respond(request: IncomingMessage): Promise<unknown> {
    if (request.method !== "POST" || request.url !== this.#path) {
      return undefined;
    }
    const body: unknown = JSON.parse(await text(request));
    const answer = async (asked: unknown): Promise<object> =>
      await this.#answer(asked);
    return Array.isArray(body)
      ? await Promise.all(body.map(answer))
      : await answer(body);
  }

  async #answer(request: unknown): Promise<object> {
    const { id = null, method, params } = asRecord(request);
    const call = { method: String(method), params: listOf(params) };
    try {
      const result =
        call.method === "eth_blockNumber"
          ? toQuantity(this.upstream.number + DEEP)
          : await this.get(call);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      // An error of the node is passed on.
      const { rpcCode: code = SERVER_ERROR, problem } = asRecord(
        hasErrorCode(error, "VAULT_RPC_ERROR") ? error.details : undefined,
      );
      this.failure = problem === undefined ? error : this.failure;
      const failure = classify(error, this.upstream, FORK_REQUESTS);
      const { message } = failure.error;
      return {
        jsonrpc: "2.0",
        id,
        error: { code, message: problem ?? message },
      };
    }
  }
}

/** A quantity and a word for a slot of storage are one number. */
function keyOf({ method, params }: UpstreamCall): string {
  return JSON.stringify([
    method,
    ...params.map((part) =>
      typeof part !== "string"
        ? part
        : isHexString(part) && part.length > 2 && !isHexString(part, 20)
          ? String(BigInt(part))
          : part.toLowerCase(),
    ),
  ]);
}

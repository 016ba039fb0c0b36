import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

import { isAddress, isHexString, toQuantity } from "ethers";

import { fallbackTo, vaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  BATCH,
  BLOCK_METHOD,
  KnownNode,
  RpcClient,
  fewRetries,
} from "../rpc/rpc-client.js";
import {
  isReorganised,
  readOnBranch,
  requestAt,
  requireSameBranch,
} from "../rpc/blocks.js";
import { CHAIN_METHOD } from "../rpc/chain.js";
import type { CallRequest } from "../rpc/chain.js";
import { classify } from "../rpc/errors.js";
import { HttpTransport } from "../rpc/http-transport.js";
import type { HttpSettings } from "../rpc/http-transport.js";

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

/** What will be executed on a fork, whose state is fetched beforehand. */
export interface WarmPlan {
  readonly calls: readonly CallRequest[];
  /** Accounts that are read without a call. */
  readonly accounts: readonly string[];
}

interface ForkedBlock {
  readonly number: number;
  readonly hash: string;
}

interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Most nodes take as many calls in one batch. */
const BATCH_SIZE = 100;

/** The block is the last parameter of each. */
const accountMethods = [
  "eth_getBalance",
  "eth_getCode",
  "eth_getTransactionCount",
];
const stateMethods = [...accountMethods, "eth_getStorageAt"];

/**
 * The simulator asks once for each value of a block that is so far below the newest, and
 * else again in each call: its own limit is 128 on most chains.
 */
const DEEP = 1_000;

/**
 * What a fork reads from its node: each value once, and all of one branch of the chain.
 * State is asked for by the block's hash (EIP-1898). After what else is read, and all that
 * a node without hashes answers, the hash at the block's number is compared.
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
  readonly #server = createServer();
  #warming: Promise<void> = Promise.resolve();

  private constructor(
    { network, redactor, limits }: RpcClient,
    settings: HttpSettings,
    private readonly block: ForkedBlock,
    /**
     * Empty, for the simulator, which must have one. Its own is kept by port, and another
     * fork on that port would read it.
     */
    public readonly folder: string,
  ) {
    this.#transport = new HttpTransport(settings);
    const node = new KnownNode(redactor);
    // Of several nodes behind the URL, one may still be behind.
    node.noteBlock(block.number);
    this.#rpc = new RpcClient(this.#transport, network, node, limits)
      .withOptions(this.#over)
      .withRetries(fewRetries);
  }

  /**
   * @param live Client of the network that is forked: what ends its requests ends this one's.
   * @param settings Of the node.
   */
  public static async open(
    live: RpcClient,
    settings: HttpSettings,
    block: ForkedBlock,
  ): Promise<Memo> {
    const folder = await mkdtemp(path.join(tmpdir(), "vault-fork-"));
    const memo = new Memo(live, settings, block, folder);
    await memo.#listen();
    return memo;
  }

  /** Of the server. */
  public get url(): string {
    const { port } = asRecord(this.#server.address());
    return `http://127.0.0.1:${String(port)}${this.#path}`;
  }

  /**
   * Fetches what Hardhat's simulator begins with: it ends the process if it does not get the
   * block.
   *
   * @returns The id of the chain.
   */
  public async begin(): Promise<number> {
    const at = toQuantity(this.block.number);
    const chain = { method: CHAIN_METHOD, params: [] };
    const calls = [
      { method: BLOCK_METHOD, params: [at, true] },
      { method: BLOCK_METHOD, params: [at, false] },
      { method: "net_version", params: [] },
      chain,
    ];
    await this.#fetch(calls);
    await Promise.all(calls.map(async (call) => await this.get(call)));
    return this.#rpc.parser(CHAIN_METHOD).number(await this.get(chain));
  }

  /** @throws VaultError VAULT_FORK_REORGED if the chain has replaced the block */
  public async get(call: Call): Promise<unknown> {
    const key = keyOf(call);
    if (this.#isState(call) && !this.#values.has(key)) {
      await this.#warming;
    }
    const value = this.#values.get(key) ?? this.#read(call);
    this.#values.set(key, value);
    // An error is no value: the next one to need it asks again.
    value.catch(() => this.#values.delete(key));
    return await value;
  }

  /**
   * Fetches what calls read, in two steps: the access lists of the calls, then the values
   * that they name. Reads of state wait for it, and work without it.
   */
  public warm(plan: () => Promise<WarmPlan> | WarmPlan): void {
    const fill = async (): Promise<void> => {
      const { calls, accounts } = await plan();
      const at = toQuantity(this.block.number);
      const method = "eth_createAccessList";
      const lists = await this.#ask(
        calls.map((call) => ({ method, params: [call, at] })),
      );
      const ofCalls = calls.flatMap(({ from, to }) => [from, to]);
      const wanted = new Map<string, Call>();
      const want = (name: string, address: string, ...rest: string[]): void => {
        const params = [address.toLowerCase(), ...rest, at];
        const call = { method: name, params };
        wanted.set(keyOf(call), call);
      };
      const wantAccount = (address: string): void => {
        for (const name of accountMethods) {
          want(name, address);
        }
      };
      [...accounts, ...ofCalls].forEach(wantAccount);
      for (const list of lists) {
        for (const entry of listOf(asRecord(list)["accessList"])) {
          const { address, storageKeys } = asRecord(entry);
          if (isAddress(address)) {
            wantAccount(address);
            for (const slot of listOf(storageKeys)) {
              want("eth_getStorageAt", address, toQuantity(String(slot)));
            }
          }
        }
      }
      await this.#fetch([...wanted.values()]);
    };
    // A failure here comes again when the value is needed.
    this.#warming = fill().catch(() => undefined);
  }

  /**
   * Shows that the chain still has the block, and its node answers.
   *
   * @throws VaultError VAULT_FORK_REORGED, VAULT_FORK_CLOSED
   */
  public async requireSameBranch(): Promise<void> {
    const { number: block, hash: expected } = this.block;
    await requireSameBranch(this.#rpc, this.block).catch((error: unknown) => {
      if (!isReorganised(error)) {
        throw error;
      }
      const { network } = this.#rpc;
      const found = String(error.details["found"]);
      const details = { network, block, expected, found };
      throw vaultError("VAULT_FORK_REORGED", details);
    });
  }

  public async close(): Promise<void> {
    const { network } = this.#rpc;
    this.#over.abort(vaultError("VAULT_FORK_CLOSED", { network }));
    this.#server.close();
    this.#server.closeAllConnections();
    await Promise.all([
      this.#transport.close(),
      // The simulator may still write to it.
      rm(this.folder, { recursive: true, force: true, maxRetries: 3 }),
    ]);
  }

  /** Fetches values in few requests. What fails is left to {@link get}. */
  async #fetch(calls: readonly Call[]): Promise<void> {
    const { hash: blockHash } = this.block;
    const byHash = { blockHash, requireCanonical: true };
    let results = await this.#ask(
      calls.map((call) => (this.#isState(call) ? ofBlock(byHash, call) : call)),
    );
    if (results.every((result) => result === undefined)) {
      // The node may take no hashes.
      results = await this.#ask(calls);
      await this.requireSameBranch();
    }
    for (const [index, call] of calls.entries()) {
      if (this.#isValue(call, results[index])) {
        this.#values.set(keyOf(call), Promise.resolve(results[index]));
      }
    }
  }

  /** Asks in batches, else one by one. @returns Undefined for what fails. */
  async #ask(calls: readonly Call[]): Promise<readonly unknown[]> {
    const batches: Array<readonly Call[]> = [];
    for (let start = 0; start < calls.length; start += BATCH_SIZE) {
      batches.push(calls.slice(start, start + BATCH_SIZE));
    }
    const ask = async (method: string, params: readonly unknown[]) =>
      await this.#rpc.request(method, params).catch(fallbackTo(undefined));
    const answers = batches.map(async (batch) => {
      const answered = await ask(BATCH, batch);
      return answered === undefined
        ? await Promise.all(
            batch.map(async ({ method, params }) => await ask(method, params)),
          )
        : listOf(answered);
    });
    return (await Promise.all(answers)).flat();
  }

  async #read(call: Call): Promise<unknown> {
    const { method, params } = call;
    const [rpc, pin] = [this.#rpc, this.block];
    let result: unknown;
    if (this.#isState(call)) {
      const readAt = async (block: unknown): Promise<unknown> =>
        await rpc.request(method, ofBlock(block, call).params);
      result = await readOnBranch(
        rpc,
        pin,
        async () => await requestAt(rpc, pin, readAt),
      );
    } else {
      result = await rpc.request(method, params);
      await this.requireSameBranch();
    }
    if (!this.#isValue(call, result)) {
      throw rpc.parser(method).invalid("the value has another form");
    }
    return result;
  }

  /** True for a call that asks for state of the block. */
  #isState({ method, params }: Call): boolean {
    return stateMethods.includes(method) && this.#isBlock(params.at(-1));
  }

  #isBlock(block: unknown): boolean {
    return isHexString(block) && Number(block) === this.block.number;
  }

  /**
   * False for another form of value, of which the simulator would take null and `0x` for 0,
   * and for the block of another branch.
   */
  #isValue(call: Call, result: unknown): boolean {
    const { method, params } = call;
    if (method === BLOCK_METHOD && this.#isBlock(params[0])) {
      const { hash } = asRecord(result);
      return String(hash).toLowerCase() === this.block.hash.toLowerCase();
    }
    if (!this.#isState(call)) {
      return result !== undefined;
    }
    return method === "eth_getCode"
      ? isHexString(result, true)
      : isHexString(result) && result.length > 2 && result.length <= 66;
  }

  /** Answers the simulator. */
  async #listen(): Promise<void> {
    const server = this.#server;
    server.on("request", (request, response) => {
      if (request.method !== "POST" || request.url !== this.#path) {
        response.writeHead(404).end();
        return;
      }
      const answering = text(request).then(async (body) => {
        const asked: unknown = JSON.parse(body);
        const answer = Array.isArray(asked)
          ? await Promise.all(asked.map(async (one) => await this.#answer(one)))
          : await this.#answer(asked);
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(answer));
      });
      answering.catch(() => response.destroy());
    });
    // A kept connection must not close while the simulator sends on it.
    server.keepAliveTimeout = 0;
    // A fork that nobody closes does not keep the process alive.
    server.on("connection", (socket) => socket.unref());
    server.unref();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }

  async #answer(request: unknown): Promise<object> {
    const { id = null, method, params } = asRecord(request);
    const call = { method: String(method), params: listOf(params) };
    try {
      const result =
        call.method === "eth_blockNumber"
          ? toQuantity(this.block.number + DEEP)
          : await this.get(call);
      return { jsonrpc: "2.0", id, result };
    } catch (thrown) {
      const { error } = classify(thrown, this.#rpc, FORK_REQUESTS);
      const { message } = error;
      return { jsonrpc: "2.0", id, error: { code: -32_000, message } };
    }
  }
}

/** The same call at another block. */
function ofBlock(block: unknown, { method, params }: Call): Call {
  return { method, params: params.with(-1, block) };
}

function keyOf({ method, params }: Call): string {
  return JSON.stringify([method, params]);
}

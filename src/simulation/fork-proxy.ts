import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";
import {
  getDispatcher,
  postJsonRequest,
} from "@nomicfoundation/hardhat-utils/request";
import { isAddress, isHexString } from "ethers";

import { asRecord, listOf } from "../json.js";
import { requestAt, requireSameBranch } from "../rpc/blocks.js";
import { CHAIN_METHOD } from "../rpc/chain.js";
import type { CallRequest } from "../rpc/chain.js";
import { classify } from "../rpc/errors.js";
import { KnownNode } from "../rpc/known-node.js";
import {
  BATCH,
  BLOCK_METHOD,
  RpcClient,
  fewRetries,
} from "../rpc/rpc-client.js";
import type { Eip1193Provider } from "../rpc/rpc-client.js";

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

/** What will be executed on a fork, whose state is fetched beforehand. */
export interface WarmPlan {
  readonly calls: readonly CallRequest[];
  /** Accounts that are read without a call. */
  readonly accounts: readonly string[];
}

type Call = readonly [method: string, ...params: unknown[]];

/** Values that are asked for together: all state of the block, or none. */
interface Batch {
  readonly calls: Call[];
  /** In the order of the calls; undefined for what fails. */
  readonly results: Promise<readonly unknown[]>;
}

/** Milliseconds without a further call, after which a batch is sent. */
const MOMENT_MS = 5;

/** Most nodes take as many calls in one batch. */
const BATCH_SIZE = 100;

const CODE_METHOD = "eth_getCode";
const STORAGE_METHOD = "eth_getStorageAt";
const LIST_METHOD = "eth_createAccessList";
const accountMethods = [
  "eth_getBalance",
  CODE_METHOD,
  "eth_getTransactionCount",
];
/** The block is the last parameter of each. */
const stateMethods = [...accountMethods, STORAGE_METHOD];

/** An access list is a hint: the values that it names are read of the branch. */
const sameOnAllBranches = ["net_version", CHAIN_METHOD, LIST_METHOD];

/**
 * The simulator asks once for each value of a block that is so far below the newest, and
 * else again in each call: its own limit is 128 on most chains.
 */
const DEEP = 1_000;

/**
 * A JSON-RPC server on loopback between Hardhat's simulator and the node of a fork. It asks the
 * node for each value once, all of one branch of the chain, and in one batch for what is asked
 * for at the same moment. State is asked for by the block's hash (EIP-1898). After what else is
 * read, and all that a node without hashes answers, the hash at the block's number is compared.
 */
export class ForkProxy {
  readonly #values = new Map<string, Promise<unknown>>();
  /** Those that take more calls, by whether these ask for state. */
  readonly #batches = new Map<boolean, Batch>();
  readonly #transport: HttpTransport;
  readonly #rpc: RpcClient;
  /** Nobody can guess it: other users of this machine must not reach the node. */
  readonly #path = `/${randomBytes(24).toString("hex")}`;
  readonly #server = createServer();
  /** The block's number, as the simulator writes it. */
  readonly #at: string;
  #warming: Promise<void> = Promise.resolve();
  /**
   * Empty, for the simulator, which must have one. Its own is kept by port, and another fork
   * on that port would read it.
   */
  public readonly folder = mkdtempSync(path.join(tmpdir(), "vault-fork-"));

  /** What ends the requests of the live network's client ends those of the fork. */
  constructor(
    { network, redactor, limits }: RpcClient,
    settings: HttpSettings,
    private readonly block: { readonly number: number; readonly hash: string },
  ) {
    this.#at = numberToHexString(block.number);
    this.#transport = new HttpTransport(settings);
    const node = new KnownNode(redactor);
    // Of several nodes behind the URL, one may still be behind.
    node.noteBlock(block.number);
    const rpc = new RpcClient(this.#transport, network, node, limits);
    this.#rpc = rpc.withRetries(fewRetries);
  }

  /** Of the server. */
  public get url(): string {
    const { port } = asRecord(this.#server.address());
    return `http://127.0.0.1:${String(port)}${this.#path}`;
  }

  /**
   * Opens the server, and fetches what Hardhat's simulator begins with: it ends the process if
   * it does not get the block.
   *
   * @returns The id of the chain.
   */
  public async begin(): Promise<number> {
    await this.#listen();
    const chain = [CHAIN_METHOD] as const;
    const calls: readonly Call[] = [
      [BLOCK_METHOD, this.#at, true],
      [BLOCK_METHOD, this.#at, false],
      ["net_version"],
      chain,
    ];
    await Promise.all(calls.map(async (call) => await this.get(call)));
    return this.#rpc.parser(CHAIN_METHOD).number(await this.get(chain));
  }

  /** @throws VaultError VAULT_REORGED if the chain has replaced the block */
  public async get(call: Call): Promise<unknown> {
    if (this.#isState(call) && !this.#values.has(JSON.stringify(call))) {
      await this.#warming;
    }
    return await this.#value(call);
  }

  /**
   * Fetches what calls read, in two steps: the access lists of the calls, then the values
   * that they name. Reads of state wait for it, and work without it.
   */
  public warm(plan: () => Promise<WarmPlan> | WarmPlan): void {
    const fill = async (): Promise<void> => {
      const { calls, accounts } = await plan();
      const lists = await Promise.allSettled(
        calls.map(
          async (call) => await this.#value([LIST_METHOD, call, this.#at]),
        ),
      );
      const wanted: Array<Promise<unknown>> = [];
      const want = (method: string, address: string, ...slot: string[]) =>
        wanted.push(
          this.#value([method, address.toLowerCase(), ...slot, this.#at]),
        );
      const wantAccount = (address: string): void =>
        accountMethods.forEach((method) => want(method, address));
      accounts.forEach(wantAccount);
      calls.flatMap(({ from, to }) => [from, to]).forEach(wantAccount);
      for (const list of lists) {
        const { accessList } = asRecord(asRecord(list)["value"]);
        for (const { address, storageKeys } of listOf(accessList).map(
          asRecord,
        )) {
          if (isAddress(address)) {
            wantAccount(address);
            for (const key of listOf(storageKeys)) {
              want(
                STORAGE_METHOD,
                address,
                numberToHexString(BigInt(String(key))),
              );
            }
          }
        }
      }
      // A failure comes again when the value is needed.
      await Promise.allSettled(wanted);
    };
    this.#warming = fill().catch(() => undefined);
  }

  /**
   * Shows that the chain still has the block, and its node answers.
   *
   * @throws VaultError VAULT_REORGED
   */
  public async requireSameBranch(): Promise<void> {
    await requireSameBranch(this.#rpc, this.block);
  }

  public async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#transport.close();
    // The simulator may still write to it.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #value(call: Call): Promise<unknown> {
    const key = JSON.stringify(call);
    let value = this.#values.get(key);
    if (value === undefined) {
      value = this.#load(call);
      this.#values.set(key, value);
      // An error is no value: the next one to need it asks again.
      value.catch(() => this.#values.delete(key));
    }
    return value;
  }

  /** Asks for a value together with the others of the same moment, else alone. */
  async #load(call: Call): Promise<unknown> {
    const isState = this.#isState(call);
    const { calls, results } = this.#openBatch(isState);
    const index = calls.push(call) - 1;
    const result = (await results.catch(() => []))[index];
    if (this.#isValue(call, result)) {
      return result;
    }
    // The node may take no batches, or has refused this call.
    const [alone] = await this.#request([call], isState);
    if (this.#isValue(call, alone)) {
      return alone;
    }
    await this.requireSameBranch();
    throw this.#rpc.parser(call[0]).invalid("the value has another form");
  }

  #openBatch(isState: boolean): Batch {
    const open = this.#batches.get(isState);
    if (open !== undefined && open.calls.length < BATCH_SIZE) {
      return open;
    }
    const calls: Call[] = [];
    const sendAll = async (): Promise<readonly unknown[]> => {
      let count: number;
      do {
        count = calls.length;
        await setTimeout(MOMENT_MS);
      } while (count < calls.length && calls.length < BATCH_SIZE);
      this.#batches.delete(isState);
      return calls.length === 1 ? [] : await this.#request(calls, isState);
    };
    const batch = { calls, results: sendAll() };
    this.#batches.set(isState, batch);
    return batch;
  }

  /** @returns Of a batch, undefined for what fails. */
  async #request(
    calls: readonly Call[],
    isState: boolean,
  ): Promise<readonly unknown[]> {
    const rpc = this.#rpc;
    const send = async (block: unknown): Promise<readonly unknown[]> => {
      const all = calls.map(([method, ...params]) => ({
        method,
        params: isState ? params.with(-1, block) : params,
      }));
      const [first] = all;
      return first !== undefined && all.length === 1
        ? [await rpc.request(first.method, first.params)]
        : listOf(await rpc.request(BATCH, all));
    };
    const results = isState
      ? await requestAt(rpc, this.block, send)
      : await send(this.#at);
    const isProven = isState
      ? rpc.node.takesHashes === true
      : calls.every(
          (call) => sameOnAllBranches.includes(call[0]) || this.#isBlock(call),
        );
    if (!isProven) {
      await this.requireSameBranch();
    }
    return results;
  }

  /** True for a call that asks for state of the block. */
  #isState(call: Call): boolean {
    return stateMethods.includes(call[0]) && call.at(-1) === this.#at;
  }

  /** True for a call that asks for the block itself, whose hash is compared. */
  #isBlock([method, block]: Call): boolean {
    return method === BLOCK_METHOD && block === this.#at;
  }

  /**
   * False for another form of value, of which the simulator would take null and `0x` for 0,
   * and for the block of another branch.
   */
  #isValue(call: Call, result: unknown): boolean {
    if (this.#isBlock(call)) {
      const { hash } = asRecord(result);
      return String(hash).toLowerCase() === this.block.hash.toLowerCase();
    }
    return this.#isState(call)
      ? isHexString(result) && (call[0] === CODE_METHOD || result !== "0x")
      : result !== undefined;
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
    try {
      const result =
        method === "eth_blockNumber"
          ? numberToHexString(this.block.number + DEEP)
          : await this.get([String(method), ...listOf(params)]);
      return { jsonrpc: "2.0", id, result };
    } catch (thrown) {
      const { error } = classify(thrown, this.#rpc, FORK_REQUESTS);
      const { message } = error;
      return { jsonrpc: "2.0", id, error: { code: -32_000, message } };
    }
  }
}

/** A node over HTTP, as the settings of its network describe it. */
export interface HttpSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for one HTTP request; 0 for no limit. */
  readonly timeout: number;
}

/** Sends JSON-RPC over HTTP, alone or in batches. It retries nothing. */
export class HttpTransport implements Eip1193Provider {
  readonly #dispatcher: ReturnType<typeof getDispatcher>;

  constructor(private readonly settings: HttpSettings) {
    const { url, timeout } = settings;
    this.#dispatcher = getDispatcher(url, { pool: true, timeout });
    // Each request meets the failure.
    this.#dispatcher.catch(() => undefined);
  }

  /**
   * @returns Of a batch, the results in the order of its calls: undefined for an error.
   * @throws The error of the node, or of the way to it. Of a batch, a limit of the
   * rate, or the first if each call fails.
   */
  public async request({
    method,
    params = [],
  }: Parameters<Eip1193Provider["request"]>[0]): Promise<unknown> {
    const isBatch = method === BATCH;
    const calls = isBatch ? params.map(asRecord) : [{ method, params }];
    const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    const answer = await this.#post(isBatch ? body : body[0]);
    const answers = (Array.isArray(answer) ? listOf(answer) : [answer]).map(
      asRecord,
    );
    // An error counts with any id: nodes that cannot read a request do not know its id.
    const errors = answers.flatMap(({ error }) => error ?? []);
    const limit = errors.find(
      (error) => classify(error).retry === "rateLimited",
    );
    if (limit !== undefined || errors.length === answers.length) {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- as providers do
      throw limit ?? errors[0];
    }
    // The order of the answers is the node's choice.
    const byId = new Map(answers.map((one) => [one["id"], one]));
    if (!isBatch && !byId.has(0)) {
      // As for an answer that is no JSON.
      throw new SyntaxError("the answer is to another request");
    }
    const results = calls.map((_, id) => {
      const { error = null, result = null } = byId.get(id) ?? { error: "none" };
      return error === null ? result : undefined;
    });
    return isBatch ? results : results[0];
  }

  /** Ends all requests. */
  public async close(): Promise<void> {
    await (await this.#dispatcher).destroy();
  }

  async #post(body: unknown): Promise<unknown> {
    const { url, headers: extraHeaders, timeout } = this.settings;
    const options = {
      extraHeaders,
      // Undici's own limit begins again with each piece of an answer.
      ...(timeout > 0 && { abortSignal: AbortSignal.timeout(timeout) }),
    };
    const dispatcher = await this.#dispatcher;
    const response = await postJsonRequest(url, body, options, dispatcher);
    const parsed: unknown = JSON.parse(await response.body.text());
    return parsed;
  }
}

import { createHash } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ZeroAddress, isHexString, toQuantity } from "ethers";

import { asRecord } from "../json.js";
import { toRpcError } from "../rpc/errors.js";
import { ResponseParser } from "../rpc/response-parser.js";
import { loadValues, saveValues } from "./block-file.js";
import { BoundedValues } from "./bounded-values.js";
import { BLOCK_METHOD, Branch, placeOfBlock } from "./branch.js";
import { FORK_REQUESTS, Upstream } from "./upstream.js";
import type {
  UpstreamAnswer,
  UpstreamCall,
  UpstreamSettings,
} from "./upstream.js";

export interface PinnedBlock {
  readonly upstream: UpstreamSettings;
  readonly chainId: number;
  readonly number: number;
  readonly hash: string;
  /** Folder to keep the values in; undefined for memory only. */
  readonly folder: string | undefined;
  /** False if the node can change the state of the block: each fork reads it afresh. */
  readonly isShared: boolean;
}

/** The simulator asks for it, and it is the same at each block. */
const NETWORK_METHOD = "net_version";

/** Milliseconds in which requests that a simulator sends together arrive. */
const COLLECT_MS = 2;

/** Milliseconds to wait for a value that warming has asked for, before it is asked again. */
const PATIENCE_MS = 1_000;

/** Of keys and values in memory; more than 300,000 slots. */
const MOST_CHARACTERS = 64 * 2 ** 20;

/** JSON-RPC error code of a server error. */
const SERVER_ERROR = -32_000;

/**
 * State of one block, by number and hash: in memory, shared by the forks of that block,
 * and on disk if it has a folder. Missing values are requested in batches.
 */
export class BlockCache {
  readonly #values = new BoundedValues(MOST_CHARACTERS);
  /** Values that were asked for, by those who need them. */
  readonly #pending = new Map<string, Promise<UpstreamAnswer>>();
  /** Values that warming asked for; undefined when they are late. */
  readonly #coming = new Map<string, Promise<UpstreamAnswer | undefined>>();
  #queue: Array<{
    readonly call: UpstreamCall;
    readonly resolve: (answer: UpstreamAnswer) => void;
  }> = [];
  #users = 0;
  readonly #upstream: Upstream;
  readonly #branch: Branch;
  #file: string | undefined;
  #hasNews = false;
  #failure: unknown;

  private constructor(private readonly block: PinnedBlock) {
    const { upstream, number, hash } = block;
    const { network } = upstream;
    this.#upstream = new Upstream(upstream);
    this.#branch = new Branch(this.#upstream, { network, number, hash });
  }

  /** Takes part in the cache of a block. Each user closes it once. */
  public static async open(block: PinnedBlock): Promise<BlockCache> {
    const key = keyOfBlock(block);
    const open = block.isShared ? caches.get(key) : undefined;
    // The chain may have come back to a block that it had replaced.
    const cache =
      open === undefined || open.#branch.ended !== undefined
        ? new BlockCache(block)
        : open;
    if (block.isShared) {
      caches.set(key, cache);
    }
    cache.#users += 1;
    if (block.folder !== undefined && cache.#file === undefined) {
      cache.#file = path.join(block.folder, `${key}.json`);
      await cache.#load(cache.#file);
    }
    return cache;
  }

  public async close(): Promise<void> {
    this.#users -= 1;
    // A file that cannot be written costs requests only.
    await this.save().catch(() => undefined);
    if (this.#users === 0) {
      const key = keyOfBlock(this.block);
      if (caches.get(key) === this) {
        caches.delete(key);
      }
      await this.#upstream.close();
    }
  }

  /** The error of a request that failed on the way to the node or back, if one did. */
  public get failure(): unknown {
    return this.#branch.ended ?? this.#failure;
  }

  /** Answers a request of the simulator. */
  public async answer(request: unknown): Promise<unknown> {
    const { id = null, method, params } = asRecord(request);
    const call: UpstreamCall = {
      method: String(method),
      params: Array.isArray(params) ? params : [],
    };
    if (!this.#isKept(call) && !this.#branch.isOfChain(call)) {
      return await this.#send(request);
    }
    const answer = this.#isKept(call)
      ? await this.get(call)
      : await this.#branch
          .readBelow(call)
          .catch((error: unknown) => this.#toAnswer(error));
    return { jsonrpc: "2.0", id, ...answer };
  }

  public async get(call: UpstreamCall): Promise<UpstreamAnswer> {
    const key = keyOfCall(call);
    const coming = await this.#coming.get(key);
    if (coming !== undefined && "result" in coming) {
      return coming;
    }
    const known = this.#values.get(key);
    if (known !== undefined) {
      return { result: known };
    }
    const asked =
      this.#pending.get(key) ??
      new Promise<UpstreamAnswer>((resolve) => {
        if (this.#queue.length === 0) {
          setTimeout(() => {
            void this.#fetchQueue();
          }, COLLECT_MS);
        }
        this.#queue.push({ call, resolve });
      });
    this.#pending.set(key, asked);
    try {
      return await asked;
    } finally {
      this.#pending.delete(key);
    }
  }

  /**
   * Fetches the block with and without transactions, and what else the simulator begins
   * with. It ends the process if it does not get the block.
   *
   * @throws VaultError
   */
  public async requireBlock(): Promise<void> {
    const at = toQuantity(this.block.number);
    const [answer] = await Promise.all([
      this.get({ method: BLOCK_METHOD, params: [at, true] }),
      this.get({ method: BLOCK_METHOD, params: [at, false] }),
      this.get({ method: NETWORK_METHOD, params: [] }),
      // Shows whether the node takes hashes, before there is much to read.
      this.get({ method: "eth_getBalance", params: [ZeroAddress, at] }),
    ]);
    if ("error" in answer) {
      const { network } = this.block.upstream;
      throw toRpcError(this.failure ?? answer.error, network, BLOCK_METHOD);
    }
  }

  /** Asks the node for what is not kept, and what a fork works without. */
  public async ask(
    calls: readonly UpstreamCall[],
  ): Promise<readonly UpstreamAnswer[]> {
    return (await this.#upstream.ask(calls, "optional")).answers;
  }

  /** Fetches values before they are needed. Whoever needs one does not wait for it long. */
  public async prefetch(calls: readonly UpstreamCall[]): Promise<void> {
    const named = new Map(calls.map((call) => [keyOfCall(call), call]));
    const wanted = [...named].filter(
      ([key]) =>
        ![this.#values, this.#pending, this.#coming].some((map) =>
          map.has(key),
        ),
    );
    if (wanted.length === 0) {
      return;
    }
    const asked = wanted.map(([, call]) => call);
    const answers = this.#branch.read(asked, "optional");
    const late = sleep(PATIENCE_MS, undefined, { ref: false });
    for (const [index, [key, call]] of wanted.entries()) {
      const coming = Promise.race([
        answers.then((all) => this.#keep(call, all[index])),
        late,
      ]).catch(() => undefined);
      this.#coming.set(key, coming);
      void coming.then(() => this.#coming.delete(key));
    }
    await answers;
  }

  /** Writes the file, if there is one and values were added. */
  public async save(): Promise<void> {
    if (this.#file !== undefined && this.#hasNews) {
      this.#hasNews = false;
      await saveValues(this.#file, this.#values);
    }
  }

  async #load(file: string): Promise<void> {
    const stored = await loadValues(file);
    if (stored.every(([key, value]) => this.#isOfBlock(key, value))) {
      for (const [key, value] of stored) {
        this.#values.add(key, value);
      }
    }
  }

  /** Sends a request to the node as it is. @returns The response, not checked. */
  async #send(body: unknown): Promise<unknown> {
    try {
      return await this.#upstream.send(body);
    } catch (error) {
      const { id = null } = asRecord(body);
      return { jsonrpc: "2.0", id, ...this.#toAnswer(error) };
    }
  }

  #isKept(call: UpstreamCall): boolean {
    return this.#branch.isOfTip(call) || call.method === NETWORK_METHOD;
  }

  async #fetchQueue(): Promise<void> {
    const asked = this.#queue;
    this.#queue = [];
    const calls = asked.map(({ call }) => call);
    const answers = await this.#branch.read(calls).catch((error: unknown) => {
      const failed = this.#toAnswer(error);
      return calls.map(() => failed);
    });
    for (const [index, { call, resolve }] of asked.entries()) {
      resolve(this.#keep(call, answers[index]));
    }
  }

  #keep(
    call: UpstreamCall,
    answer: UpstreamAnswer = { error: undefined },
  ): UpstreamAnswer {
    if ("error" in answer) {
      return answer;
    }
    const key = keyOfCall(call);
    if (this.#isOfBlock(key, answer.result)) {
      this.#hasNews = this.#values.add(key, answer.result) || this.#hasNews;
      return answer;
    }
    // The simulator would take null for an empty slot.
    const { network } = this.block.upstream;
    const read = new ResponseParser(network, call.method);
    return this.#toAnswer(read.invalid("a value that is no hex value"));
  }

  #toAnswer(error: unknown): UpstreamAnswer & { readonly error: unknown } {
    this.#failure = error;
    const { network } = this.block.upstream;
    const { message } = toRpcError(error, network, FORK_REQUESTS);
    return { error: { code: SERVER_ERROR, message } };
  }

  /** True if the value has the form of its kind, and is not of another block. */
  #isOfBlock(key: string, value: unknown): boolean {
    const { hash } = asRecord(value);
    const [method] = key.split(" ", 1);
    return method === BLOCK_METHOD.toLowerCase()
      ? String(hash).toLowerCase() === this.block.hash.toLowerCase()
      : isHexString(value) ||
          (method === NETWORK_METHOD && typeof value === "string");
  }
}

/** Those in use that are shared. */
const caches = new Map<string, BlockCache>();

/** A hash, because URL and headers may have a key in them. */
function keyOfBlock({ upstream, chainId, hash }: PinnedBlock): string {
  const { url, headers } = upstream;
  const identity = JSON.stringify([
    url,
    Object.entries(headers),
    chainId,
    hash,
  ]);
  return createHash("sha256").update(identity).digest("hex");
}

function keyOfCall({ method, params }: UpstreamCall): string {
  const place = placeOfBlock(method);
  const parts = params.filter((_, index) => index !== place);
  return [method, ...parts.map((part) => (isSlot(part) ? BigInt(part) : part))]
    .join(" ")
    .toLowerCase();
}

/** True for a quantity or a word: nodes take both for a place in storage. */
function isSlot(part: unknown): part is string {
  return (
    typeof part === "string" &&
    /^0x(?:[0-9a-f]{1,39}|[0-9a-f]{64})$/iu.test(part)
  );
}

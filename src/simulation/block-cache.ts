import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { isHexString, toQuantity } from "ethers";
import writeFileAtomic from "write-file-atomic";
import { z } from "zod";

import { vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { toRpcError } from "../rpc/errors.js";
import { ResponseParser } from "../rpc/response-parser.js";
import { waitAfter } from "../rpc/retry.js";
import { Upstream } from "./upstream.js";
import type {
  UpstreamAnswer,
  UpstreamCall,
  UpstreamSettings,
} from "./upstream.js";

export interface PinnedBlock {
  readonly upstream: UpstreamSettings;
  /** Name of the network in error texts. */
  readonly network: string;
  readonly chainId: number;
  readonly number: number;
  readonly hash: string;
  /** Folder to keep the values in; undefined for memory only. */
  readonly folder: string | undefined;
  /** False if the node can change the state of the block: each fork reads it afresh. */
  readonly isShared: boolean;
}

/** Name of a fork's own requests in error texts. */
export const FORK_REQUESTS = "the requests of a fork";

/** The place of the block among the parameters. */
const blockParameter: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
  eth_getBlockByNumber: 0,
};

const BLOCK_METHOD = "eth_getBlockByNumber";

/** Milliseconds in which requests that a simulator sends together arrive. */
const COLLECT_MS = 2;

/** Attempts to read from a node that does not have the block yet, or lags behind. */
const BEHIND_ATTEMPTS = 6;

/** JSON-RPC error code of a server error. */
const SERVER_ERROR = -32_000;

const storedValues = z.record(z.union([z.string(), z.record(z.unknown())]));

/**
 * State of one block, by number and hash: in memory, shared by the forks of that block,
 * and on disk if it has a folder. Missing values are requested in batches, each with a
 * request for the block's hash, so that no value of another branch is taken.
 */
export class BlockCache {
  readonly #values = new Map<string, unknown>();
  readonly #pending = new Map<string, Promise<UpstreamAnswer>>();
  #queue: Array<{
    readonly call: UpstreamCall;
    readonly resolve: (answer: UpstreamAnswer) => void;
  }> = [];
  #users = 0;
  #upstream: Promise<Upstream> | undefined;
  #stored = 0;
  #ended: Error | undefined;
  #failure: unknown;

  #file: string | undefined;

  private constructor(private readonly block: PinnedBlock) {}

  /** Takes part in the cache of a block. Each user closes it once. */
  public static async open(block: PinnedBlock): Promise<BlockCache> {
    const key = keyOfBlock(block);
    const shared = block.isShared ? caches.get(key) : undefined;
    const cache = shared ?? new BlockCache(block);
    if (block.isShared) {
      caches.set(key, cache);
    }
    cache.#users += 1;
    cache.#upstream ??= Upstream.open(block.upstream);
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
      const upstream = this.#upstream;
      this.#upstream = undefined;
      await (await upstream)?.close();
    }
  }

  /** The error of a request that failed on the way to the node or back, if one did. */
  public get failure(): unknown {
    return this.#ended ?? this.#failure;
  }

  /** True if the call is for state of this block, which is kept. */
  public isPinned({ method, params }: UpstreamCall): boolean {
    const place = blockParameter[method];
    const block = place === undefined ? undefined : params[place];
    return isHexString(block) && Number(block) === this.block.number;
  }

  public async get(call: UpstreamCall): Promise<UpstreamAnswer> {
    const key = keyOfCall(call);
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
   * Fetches the block with its transactions. The simulator asks for it, and ends the
   * process if that fails.
   *
   * @throws VaultError
   */
  public async requireBlock(): Promise<void> {
    const params = [toQuantity(this.block.number), true];
    const answer = await this.get({ method: BLOCK_METHOD, params });
    if ("error" in answer) {
      const { network } = this.block;
      throw toRpcError(this.failure ?? answer.error, network, BLOCK_METHOD);
    }
  }

  /** Asks the node for what is not kept. */
  public async ask(
    calls: readonly UpstreamCall[],
  ): Promise<readonly UpstreamAnswer[]> {
    return (await (await this.#node()).ask(calls)).answers;
  }

  /** Sends a request to the node as it is. @returns The response, not checked. */
  public async send(body: unknown): Promise<unknown> {
    try {
      return await (await this.#node()).send(body);
    } catch (error) {
      const { id = null } = asRecord(body);
      return { jsonrpc: "2.0", id, ...this.#toAnswer(error) };
    }
  }

  /** Writes the file, if there is one and values were added. */
  public async save(): Promise<void> {
    const file = this.#file;
    if (file === undefined || this.#stored === this.#values.size) {
      return;
    }
    this.#stored = this.#values.size;
    const text = JSON.stringify(Object.fromEntries(this.#values));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFileAtomic(file, text);
  }

  async #load(file: string): Promise<void> {
    // A file that cannot be used is replaced.
    const text = await readFile(file, "utf8").catch(() => "{}");
    const { data = {} } = storedValues.safeParse(parseJson(text));
    const stored = Object.entries(data);
    if (stored.every(([key, value]) => this.#isOfBlock(key, value))) {
      for (const [key, value] of stored) {
        this.#values.set(key, value);
      }
    }
    this.#stored = this.#values.size;
  }

  async #node(): Promise<Upstream> {
    if (this.#upstream === undefined) {
      // After the last user is gone, only a warming that goes on asks.
      throw new Error("the fork is closed");
    }
    return await this.#upstream;
  }

  async #fetchQueue(): Promise<void> {
    const asked = this.#queue;
    this.#queue = [];
    const calls = asked.map(({ call }) => call);
    const answers = await this.#fetch(calls).catch((error: unknown) => {
      const failed = this.#toAnswer(error);
      return calls.map(() => failed);
    });
    for (const [index, { call, resolve }] of asked.entries()) {
      resolve(this.#keep(call, answers[index] ?? { error: undefined }));
    }
  }

  /** @throws VaultError VAULT_FORK_REORGED if the block is no longer part of the chain */
  async #fetch(
    calls: readonly UpstreamCall[],
  ): Promise<readonly UpstreamAnswer[]> {
    const { number, hash, network } = this.block;
    const params = [toQuantity(number), false];
    const check = { method: BLOCK_METHOD, params };
    for (let attempt = 1; ; attempt += 1) {
      if (this.#ended !== undefined) {
        throw this.#ended;
      }
      const node = await this.#node();
      const { answers, isOneRequest } = await node.ask([...calls, check]);
      // Only what is asked last shows that nothing was read of another branch.
      const last = isOneRequest
        ? answers.at(-1)
        : (await node.ask([check])).answers[0];
      const header =
        last !== undefined && "result" in last ? last.result : undefined;
      const found = asRecord(header)["hash"];
      if (isHexString(found, 32)) {
        if (found.toLowerCase() !== hash.toLowerCase()) {
          throw this.#reorged(found);
        }
        this.#values.set(keyOfCall(check), header);
        return answers.slice(0, -1);
      }
      if (last !== undefined && "error" in last) {
        // Temporary failures were repeated already.
        throw toRpcError(last.error, network, BLOCK_METHOD);
      }
      if (attempt >= BEHIND_ATTEMPTS) {
        throw vaultError("VAULT_BLOCK_NOT_FOUND", { network, block: number });
      }
      await sleep(waitAfter(attempt));
    }
  }

  #keep(call: UpstreamCall, answer: UpstreamAnswer): UpstreamAnswer {
    const key = keyOfCall(call);
    if ("error" in answer) {
      return answer;
    }
    const { result } = answer;
    if (this.#isOfBlock(key, result)) {
      this.#values.set(key, result);
      return answer;
    }
    if (call.method !== BLOCK_METHOD) {
      // The simulator would take null for an empty slot.
      const read = new ResponseParser(this.block.network, call.method);
      return this.#toAnswer(read.invalid("a value that is no hex value"));
    }
    const found = asRecord(result)["hash"];
    return isHexString(found, 32)
      ? this.#toAnswer(this.#reorged(found))
      : answer;
  }

  #reorged(found: string): Error {
    const { number, hash, network } = this.block;
    const details = { network, block: number, expected: hash, found };
    this.#ended = vaultError("VAULT_FORK_REORGED", details);
    return this.#ended;
  }

  #toAnswer(error: unknown): UpstreamAnswer {
    this.#failure = error;
    const { message } = toRpcError(error, this.block.network, FORK_REQUESTS);
    return { error: { code: SERVER_ERROR, message } };
  }

  /** True if the value has the form of its kind, and is not of another block. */
  #isOfBlock(key: string, value: unknown): boolean {
    const { hash } = asRecord(value);
    return key.startsWith(BLOCK_METHOD.toLowerCase())
      ? String(hash).toLowerCase() === this.block.hash.toLowerCase()
      : isHexString(value);
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
  const place = blockParameter[method];
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

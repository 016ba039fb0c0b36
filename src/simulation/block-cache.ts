import { createHash } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ZeroAddress, isHexString, toQuantity } from "ethers";

import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { toRpcError } from "../rpc/errors.js";
import { ResponseParser } from "../rpc/response-parser.js";
import { BLOCK_METHOD, Branch, placeOfBlock } from "./branch.js";
import { KeptValues } from "./kept-values.js";
import { NO_ANSWER, Upstream } from "./upstream.js";
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

/** Milliseconds to wait for a value of warming before a retry. */
const PATIENCE_MS = 1_000;

/** Of keys and values in memory; more than 300,000 slots. */
const MOST_CHARACTERS = 64 * 2 ** 20;

/**
 * State of one block, by number and hash: in memory, shared by the forks of that block,
 * and on disk if it has a folder. Missing values are requested in batches.
 */
export class BlockCache {
  readonly #values = new KeptValues(MOST_CHARACTERS);
  /** Answers on their way; undefined for warming that fails or is late. */
  readonly #asked = new Map<string, Promise<UpstreamAnswer | undefined>>();
  /** The next batch; undefined if nobody waits for one. */
  #batch:
    | {
        readonly calls: UpstreamCall[];
        readonly answers: Promise<readonly UpstreamAnswer[]>;
      }
    | undefined;
  #users = 0;
  readonly #upstream: Upstream;
  readonly #branch: Branch;

  private constructor(private readonly pinned: PinnedBlock) {
    const { upstream, number, hash } = pinned;
    const { network, redactor } = upstream;
    const tip = { network, redactor, number, hash };
    this.#upstream = new Upstream(upstream);
    this.#branch = new Branch(this.#upstream, tip);
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
    if (block.folder !== undefined) {
      const file = path.join(block.folder, `${key}.json`);
      await cache.#values.keepIn(file, (name, value) =>
        cache.#isOfBlock(name, value),
      );
    }
    return cache;
  }

  /** Set once the node has another block at this number. */
  public get ended(): VaultError | undefined {
    return this.#branch.ended;
  }

  public async close(): Promise<void> {
    this.#users -= 1;
    // A file that cannot be written costs requests only.
    await this.save().catch(() => undefined);
    if (this.#users === 0) {
      const key = keyOfBlock(this.pinned);
      if (caches.get(key) === this) {
        caches.delete(key);
      }
      await this.#upstream.close();
    }
  }

  /** Answers a request of the simulator. */
  public async answer(call: UpstreamCall): Promise<UpstreamAnswer> {
    if (this.#branch.isOfTip(call) || call.method === NETWORK_METHOD) {
      return await this.#get(call);
    }
    try {
      const answer = this.#branch.isOfChain(call)
        ? await this.#branch.readBelow(call)
        : ((await this.#upstream.ask([call])).answers[0] ?? NO_ANSWER);
      return "error" in answer || hasForm(call.method, answer.result)
        ? answer
        : { error: this.#formError(call.method) };
    } catch (error) {
      return { error };
    }
  }

  /**
   * Fetches the block with and without transactions, and what else the simulator begins
   * with. It ends the process if it does not get the block.
   *
   * @throws VaultError
   */
  public async requireBlock(): Promise<void> {
    const at = toQuantity(this.pinned.number);
    const [answer] = await Promise.all([
      this.#get({ method: BLOCK_METHOD, params: [at, true] }),
      this.#get({ method: BLOCK_METHOD, params: [at, false] }),
      this.#get({ method: NETWORK_METHOD, params: [] }),
      // Shows whether the node takes hashes, before there is much to read.
      this.#get({ method: "eth_getBalance", params: [ZeroAddress, at] }),
    ]);
    if ("error" in answer) {
      const { network, redactor } = this.pinned.upstream;
      throw toRpcError(answer.error, network, BLOCK_METHOD, redactor);
    }
  }

  /** Asks the node for what is not kept, and what a fork works without. */
  public async ask(
    calls: readonly UpstreamCall[],
  ): Promise<readonly UpstreamAnswer[]> {
    return (await this.#upstream.ask(calls, "optional")).answers;
  }

  /** Fetches values before they are needed. A read that needs one does not wait for it long. */
  public async prefetch(calls: readonly UpstreamCall[]): Promise<void> {
    const named = new Map(calls.map((call) => [keyOfCall(call), call]));
    const wanted = [...named].filter(
      ([key]) => !this.#values.has(key) && !this.#asked.has(key),
    );
    if (wanted.length === 0) {
      return;
    }
    const answers = this.#branch.read(
      wanted.map(([, call]) => call),
      "optional",
    );
    const late = sleep(PATIENCE_MS, undefined, { ref: false });
    for (const [index, [key, { method }]] of wanted.entries()) {
      const kept = answers.then((all) => this.#keep(key, method, all[index]));
      this.#expect(
        key,
        Promise.race([kept, late]).then(
          (answer) =>
            answer === undefined || "error" in answer ? undefined : answer,
          () => undefined,
        ),
      );
    }
    await answers;
  }

  /** Writes the file, if there is one and values were added. */
  public async save(): Promise<void> {
    await this.#values.save();
  }

  /** Waits for an earlier request for the same value, else asks. */
  async #get(call: UpstreamCall): Promise<UpstreamAnswer> {
    const key = keyOfCall(call);
    for (;;) {
      const result = this.#values.get(key);
      if (result !== undefined) {
        return { result };
      }
      const answer = await (this.#asked.get(key) ?? this.#askSoon(key, call));
      if (answer !== undefined) {
        return answer;
      }
    }
  }

  async #askSoon(key: string, call: UpstreamCall): Promise<UpstreamAnswer> {
    this.#batch ??= {
      calls: [],
      answers: sleep(COLLECT_MS).then(async () => await this.#readBatch()),
    };
    const { calls, answers } = this.#batch;
    const index = calls.push(call) - 1;
    const kept = answers.then((all) =>
      this.#keep(key, call.method, all[index]),
    );
    this.#expect(key, kept);
    return await kept;
  }

  async #readBatch(): Promise<readonly UpstreamAnswer[]> {
    const { calls = [] } = this.#batch ?? {};
    this.#batch = undefined;
    return await this.#branch
      .read(calls)
      .catch((error: unknown) => calls.map(() => ({ error })));
  }

  #expect(key: string, answer: Promise<UpstreamAnswer | undefined>): void {
    this.#asked.set(key, answer);
    void answer.then(() => this.#asked.delete(key));
  }

  #keep(
    key: string,
    method: string,
    answer: UpstreamAnswer = NO_ANSWER,
  ): UpstreamAnswer {
    if ("error" in answer) {
      return answer;
    }
    if (!this.#isOfBlock(key, answer.result)) {
      return { error: this.#formError(method) };
    }
    this.#values.add(key, answer.result);
    return answer;
  }

  /** True if the value has the form of its kind, and is not of another block. */
  #isOfBlock(key: string, value: unknown): boolean {
    const { hash } = asRecord(value);
    const [method = ""] = key.split(" ", 1);
    return method === BLOCK_METHOD
      ? String(hash).toLowerCase() === this.pinned.hash.toLowerCase()
      : hasForm(method, value);
  }

  #formError(method: string): VaultError {
    const read = new ResponseParser(this.pinned.upstream.network, method);
    return read.invalid("the value has another form");
  }
}

const isQuantity = (value: unknown): boolean =>
  typeof value === "string" && /^0x[0-9a-f]{1,64}$/iu.test(value);

/** Forms of values. The simulator would take null and `0x` for 0. */
const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  eth_getBalance: isQuantity,
  eth_getTransactionCount: isQuantity,
  eth_getStorageAt: isQuantity,
  eth_getCode: (value) => isHexString(value, true),
  [NETWORK_METHOD]: (value) => typeof value === "string",
};

/** False for a value of state that has another form. */
function hasForm(method: string, value: unknown): boolean {
  return forms[method]?.(value) ?? true;
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

/** Nodes take a quantity and a word for a slot of storage: both are one number. */
function keyOfCall({ method, params }: UpstreamCall): string {
  const place = placeOfBlock(method);
  const parts = params.filter((_, index) => index !== place);
  return [
    method,
    ...parts.map((part) =>
      isHexString(part) && part.length > 2 && !isHexString(part, 20)
        ? BigInt(part)
        : String(part).toLowerCase(),
    ),
  ].join(" ");
}

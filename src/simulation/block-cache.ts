import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ZeroAddress, isHexString, toQuantity } from "ethers";

import type { VaultError } from "../errors.js";
import { replaceFile } from "../files/replace-file.js";
import { asRecord } from "../json.js";
import { CHAIN_METHOD, parseChainId } from "../rpc/chain.js";
import { toRpcError } from "../rpc/errors.js";
import { ResponseParser } from "../rpc/response-parser.js";
import { BLOCK_METHOD, Branch, placeOfBlock } from "./branch.js";
import { NO_ANSWER, Upstream } from "./upstream.js";
import type {
  UpstreamAnswer,
  UpstreamCall,
  UpstreamSettings,
  Urgency,
} from "./upstream.js";

export interface PinnedBlock {
  readonly upstream: UpstreamSettings;
  readonly number: number;
  readonly hash: string;
  /** Folder to keep the values in; undefined for memory only. */
  readonly folder: string | undefined;
}

/** The simulator asks for it, and it is the same at each block. */
const NETWORK_METHOD = "net_version";

/** Milliseconds to wait for a value of warming before it is asked for alone. */
export const PATIENCE_MS = 1_000;

/**
 * The simulator asks once for each value of a block that is so far below the newest, and
 * else again in each call: its own limit is 128 on most chains.
 */
const DEEP = 1_000;

/**
 * A node's answers for one block, by number and hash: in memory, and on disk if it has a
 * folder.
 */
export class BlockCache {
  readonly #values = new Map<string, unknown>();
  /** Values on their way. */
  readonly #asked = new Map<string, Promise<unknown>>();
  readonly #upstream: Upstream;
  readonly #branch: Branch;
  /** Values of the file. */
  #stored = 0;

  private constructor(private readonly pinned: PinnedBlock) {
    const { upstream, number, hash } = pinned;
    const { network, redactor } = upstream;
    this.#upstream = new Upstream(upstream);
    this.#branch = new Branch(this.#upstream, {
      ...{ network, redactor, number, hash },
    });
  }

  public static async open(block: PinnedBlock): Promise<BlockCache> {
    const cache = new BlockCache(block);
    const stored = Object.entries(asRecord(await readJson(cache.#file)));
    if (stored.every(([key, value]) => cache.#isOfBlock(key, value))) {
      stored.forEach(([key, value]) => cache.#values.set(key, value));
      cache.#stored = stored.length;
    }
    return cache;
  }

  /** Set once the node has another block at this number. */
  public get ended(): VaultError | undefined {
    return this.#branch.ended;
  }

  public async close(): Promise<void> {
    // A file that cannot be written costs requests only.
    await this.save().catch(() => undefined);
    await this.#upstream.close();
  }

  /** Answers requests of the simulator. */
  public async answer(
    calls: readonly UpstreamCall[],
  ): Promise<readonly UpstreamAnswer[]> {
    const isKept = (call: UpstreamCall): boolean =>
      this.#branch.isOfTip(call) ||
      call.method === CHAIN_METHOD ||
      call.method === NETWORK_METHOD;
    const failed = await this.#fetch(calls.filter(isKept), "needed");
    return await Promise.all(
      calls.map(async (call) =>
        isKept(call)
          ? (failed.get(keyOf(call)) ?? {
              result: this.#values.get(keyOf(call)),
            })
          : await this.#pass(call),
      ),
    );
  }

  /**
   * Fetches the block with and without transactions, and what else the simulator begins
   * with. It ends the process if it does not get the block.
   *
   * @returns The id of the chain.
   * @throws VaultError
   */
  public async requireBlock(): Promise<number> {
    const at = toQuantity(this.pinned.number);
    const { network, redactor } = this.pinned.upstream;
    const [block = NO_ANSWER, chain = NO_ANSWER] = await this.answer([
      { method: BLOCK_METHOD, params: [at, true] },
      { method: CHAIN_METHOD, params: [] },
      { method: BLOCK_METHOD, params: [at, false] },
      { method: NETWORK_METHOD, params: [] },
      // Shows whether the node takes hashes, before there is much to read.
      { method: "eth_getBalance", params: [ZeroAddress, at] },
    ]);
    if ("error" in block) {
      throw toRpcError(block.error, network, BLOCK_METHOD, redactor);
    }
    if ("error" in chain) {
      throw toRpcError(chain.error, network, CHAIN_METHOD, redactor);
    }
    return parseChainId(network, chain.result);
  }

  /** @returns Undefined if there is no such value. */
  public valueOf(call: UpstreamCall): unknown {
    return this.#values.get(keyOf(call));
  }

  /** Asks the node for what is not kept, and what a fork works without. */
  public async ask(
    calls: readonly UpstreamCall[],
  ): Promise<readonly UpstreamAnswer[]> {
    return (await this.#upstream.ask(calls, "optional")).answers;
  }

  /** Fetches values before they are needed. A read that needs one does not wait for it long. */
  public async prefetch(calls: readonly UpstreamCall[]): Promise<void> {
    await this.#fetch(calls, "optional");
  }

  /** Writes the file, if there is one and values were added. */
  public async save(): Promise<void> {
    const file = this.#file;
    if (file !== undefined && this.#values.size > this.#stored) {
      this.#stored = this.#values.size;
      await mkdir(path.dirname(file), { recursive: true });
      await replaceFile(file, JSON.stringify(Object.fromEntries(this.#values)));
    }
  }

  /** A hash, because URL and headers may have a key in them. */
  get #file(): string | undefined {
    const { upstream, hash, folder } = this.pinned;
    const { url, headers } = upstream;
    const identity = [url, Object.entries(headers), hash];
    const name = createHash("sha256").update(JSON.stringify(identity));
    return folder === undefined
      ? undefined
      : path.join(folder, `${name.digest("hex")}.json`);
  }

  /**
   * Fetches values that are not there, after those on their way.
   *
   * @returns The errors, by key.
   */
  async #fetch(
    calls: readonly UpstreamCall[],
    urgency: Urgency,
  ): Promise<ReadonlyMap<string, UpstreamAnswer>> {
    const wanted = new Map(calls.map((call) => [keyOf(call), call]));
    const errors = new Map<string, UpstreamAnswer>();
    if (urgency === "needed") {
      await Promise.all(
        [...wanted.keys()].map(async (key) => {
          await this.#asked.get(key);
        }),
      );
    }
    const missing = [...wanted].filter(
      ([key]) =>
        !this.#values.has(key) &&
        (urgency === "needed" || !this.#asked.has(key)),
    );
    if (missing.length === 0) {
      return errors;
    }
    const read = this.#branch.read(
      missing.map(([, call]) => call),
      urgency,
    );
    const kept = read.then((answers) => {
      missing.forEach(([key, { method }], index) => {
        const answer = this.#checked(method, key, answers[index]);
        if ("error" in answer) {
          errors.set(key, answer);
        } else {
          this.#values.set(key, answer.result);
        }
      });
    });
    const done = kept.catch(() => undefined);
    const late = sleep(PATIENCE_MS, undefined, { ref: false });
    const settled = urgency === "needed" ? done : Promise.race([done, late]);
    for (const [key] of missing) {
      const own = settled.then(() => {
        if (this.#asked.get(key) === own) {
          this.#asked.delete(key);
        }
      });
      this.#asked.set(key, own);
    }
    if (urgency === "optional") {
      await kept;
      return errors;
    }
    await kept.catch((error: unknown) => {
      missing.forEach(([key]) => errors.set(key, { error }));
    });
    return errors;
  }

  /** Asks for what is not kept. */
  async #pass(call: UpstreamCall): Promise<UpstreamAnswer> {
    if (call.method === "eth_blockNumber") {
      return { result: toQuantity(this.pinned.number + DEEP) };
    }
    try {
      const answer = this.#branch.isOfChain(call)
        ? await this.#branch.readBelow(call)
        : (await this.#upstream.ask([call])).answers[0];
      return this.#checked(call.method, undefined, answer);
    } catch (error) {
      return { error };
    }
  }

  /** @param key Of a value of the block. */
  #checked(
    method: string,
    key: string | undefined,
    answer: UpstreamAnswer = NO_ANSWER,
  ): UpstreamAnswer {
    if (
      "error" in answer ||
      (key === undefined
        ? hasForm(method, answer.result)
        : this.#isOfBlock(key, answer.result))
    ) {
      return answer;
    }
    const read = new ResponseParser(this.pinned.upstream.network, method);
    return { error: read.invalid("the value has another form") };
  }

  /** True if the value has the form of its kind, and is not of another block. */
  #isOfBlock(key: string, value: unknown): boolean {
    const { hash } = asRecord(value);
    const [method = ""] = key.split(" ", 1);
    return method === BLOCK_METHOD
      ? String(hash).toLowerCase() === this.pinned.hash.toLowerCase()
      : hasForm(method, value);
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
  [CHAIN_METHOD]: isQuantity,
  [NETWORK_METHOD]: (value) => typeof value === "string",
};

/** False for a value of state that has another form. */
function hasForm(method: string, value: unknown): boolean {
  return forms[method]?.(value) ?? true;
}

/** Nodes take a quantity and a word for a slot of storage: both are one number. */
function keyOf({ method, params }: UpstreamCall): string {
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

/** @returns Undefined for a file that cannot be used: it will be replaced. */
async function readJson(file: string | undefined): Promise<unknown> {
  try {
    return file === undefined
      ? undefined
      : JSON.parse(await readFile(file, "utf8"));
  } catch {
    return undefined;
  }
}

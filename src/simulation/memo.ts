import { ZeroAddress, isHexString, toQuantity } from "ethers";

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import type { Redactor } from "../redact.js";
import { BLOCK_METHOD } from "../rpc/block-id.js";
import { CHAIN_METHOD, parseChainId } from "../rpc/chain.js";
import { HttpTransport } from "../rpc/http-transport.js";
import type { HttpSettings } from "../rpc/http-transport.js";
import {
  isReorganised,
  requestAt,
  requireSameBranch,
} from "../rpc/pinned-block.js";
import { fewRetries } from "../rpc/retry.js";
import type { RetryPolicy } from "../rpc/retry.js";
import { BATCH, KnownNode, RpcClient } from "../rpc/rpc-client.js";

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

/** Most nodes take as many calls in one batch. */
const BATCH_SIZE = 100;

/** In time for a node that takes five requests a second. */
const batchRetries: RetryPolicy = { rateLimited: 6, transient: 3 };

/** Methods for state, with the place of the block among the parameters. */
const stateMethods: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
};

const NETWORK_METHOD = "net_version";

/** Their answers are the same on each branch. */
const timelessMethods: readonly string[] = [CHAIN_METHOD, NETWORK_METHOD];

/**
 * What a fork reads from its node: each value once, and all of one branch of the chain.
 * State of the block is asked for by the block's hash (EIP-1898). After what else is read,
 * and all that a node without hashes answers, the hash at the block's number is compared.
 */
export class Memo {
  readonly #values = new Map<string, unknown>();
  /** Values on their way. */
  readonly #asked = new Map<string, Promise<unknown>>();
  readonly #transport: HttpTransport;
  readonly #rpc: RpcClient;
  readonly #over = new AbortController();
  #ended: VaultError | undefined;

  /** Reads of state that is not here yet wait for it. It may not reject. */
  public warming: Promise<void> = Promise.resolve();

  constructor(private readonly upstream: Upstream) {
    const { network, redactor, number, signal } = upstream;
    this.#transport = new HttpTransport(upstream);
    const node = new KnownNode(redactor);
    // Of several nodes behind the URL, one may still be behind.
    node.blocks.note(number);
    this.#rpc = new RpcClient(this.#transport, network, node)
      .withOptions({ signal })
      .withOptions({ signal: this.#over.signal })
      .withRetries(fewRetries);
  }

  /** The reason why nothing more is read, if there is one. */
  public get ended(): VaultError | undefined {
    return this.#ended;
  }

  /**
   * Fetches what Hardhat's simulator begins with: it ends the process if it does not get the
   * block.
   *
   * @returns The id of the chain.
   */
  public async begin(): Promise<number> {
    const { network, number } = this.upstream;
    const at = toQuantity(number);
    const block = { method: BLOCK_METHOD, params: [at, true] };
    const chain = { method: CHAIN_METHOD, params: [] };
    await this.fetch([
      block,
      chain,
      { method: BLOCK_METHOD, params: [at, false] },
      { method: NETWORK_METHOD, params: [] },
    ]);
    await this.get(block);
    return parseChainId(network, await this.get(chain));
  }

  /** Shows whether the node takes hashes, before there is much to read. */
  public async probe(): Promise<void> {
    const { number } = this.upstream;
    const params = [ZeroAddress, toQuantity(number)];
    const [answer] = await this.ask([
      this.#atHash({ method: "eth_getBalance", params }),
    ]);
    this.#rpc.node.takesHashes ??= answer === undefined ? undefined : true;
  }

  /** @throws VaultError VAULT_FORK_REORGED once the chain has replaced the block */
  public async get(call: UpstreamCall): Promise<unknown> {
    const key = keyOf(call);
    if (!this.#values.has(key) && call.method in stateMethods) {
      await this.warming;
    }
    if (!this.#values.has(key)) {
      const asked = this.#asked.get(key) ?? this.#read(call);
      this.#asked.set(key, asked);
      // An error is no value: the next one to need it asks again.
      const value = await asked.finally(() => this.#asked.delete(key));
      this.#values.set(key, value);
    }
    return this.#values.get(key);
  }

  /** Fetches values in few requests. What fails is left to {@link get}. */
  public async fetch(calls: readonly UpstreamCall[]): Promise<void> {
    const isByHash = this.#rpc.node.takesHashes === true;
    const results = await this.ask(
      isByHash ? calls.map((call) => this.#atHash(call)) : calls,
    );
    const isProved = calls.every(
      (call) =>
        timelessMethods.includes(call.method) ||
        // A header has the hash itself.
        (call.method === BLOCK_METHOD && this.#isBlock(call.params[0])) ||
        (isByHash && this.#placeOfBlock(call) !== undefined),
    );
    if (!isProved) {
      await this.requireSameBranch();
    }
    for (const [index, call] of calls.entries()) {
      const result = results[index];
      if (this.#isValue(call, result)) {
        this.#values.set(keyOf(call), result);
      }
    }
  }

  /** Asks in batches, else one by one. @returns Undefined for what fails. */
  public async ask(
    calls: readonly UpstreamCall[],
  ): Promise<readonly unknown[]> {
    const batches = this.#rpc.withRetries(batchRetries);
    const alone = async ({ method, params }: UpstreamCall): Promise<unknown> =>
      await this.#rpc.request(method, params).catch(fallbackTo(undefined));
    const answers: Array<Promise<readonly unknown[]>> = [];
    for (let start = 0; start < calls.length; start += BATCH_SIZE) {
      const batch = calls.slice(start, start + BATCH_SIZE);
      answers.push(
        batches
          .request(BATCH, batch)
          .then(listOf)
          .catch(fallbackTo(undefined))
          .then(
            async (answer) => answer ?? (await Promise.all(batch.map(alone))),
          ),
      );
    }
    return (await Promise.all(answers)).flat();
  }

  /** @throws VaultError VAULT_FORK_REORGED if the chain has replaced the block */
  public async requireSameBranch(): Promise<void> {
    await this.#ofBranch(async () => {
      await requireSameBranch(this.#rpc, this.upstream);
    });
  }

  public async close(): Promise<void> {
    const { network } = this.upstream;
    this.#ended = vaultError("VAULT_FORK_CLOSED", { network });
    this.#over.abort(this.#ended);
    await this.#transport.close();
  }

  async #read(call: UpstreamCall): Promise<unknown> {
    const { method, params } = call;
    const place = this.#placeOfBlock(call);
    return await this.#ofBranch(async () => {
      const rpc = this.#rpc;
      let isProved = timelessMethods.includes(method);
      const result =
        place === undefined
          ? await rpc.request(method, params)
          : await requestAt(rpc, this.upstream, async (block) => {
              isProved = typeof block === "object";
              return await rpc.request(method, params.with(place, block));
            });
      if (!isProved) {
        await requireSameBranch(rpc, this.upstream);
      }
      if (!this.#isValue(call, result)) {
        throw rpc.parser(method).invalid("the value has another form");
      }
      return result;
    });
  }

  async #ofBranch<T>(read: () => Promise<T>): Promise<T> {
    if (this.#ended !== undefined) {
      throw this.#ended;
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
      this.#ended ??= vaultError("VAULT_FORK_REORGED", details);
      throw this.#ended;
    }
  }

  #atHash(call: UpstreamCall): UpstreamCall {
    const place = this.#placeOfBlock(call);
    const block = { blockHash: this.upstream.hash, requireCanonical: true };
    return place === undefined
      ? call
      : { ...call, params: call.params.with(place, block) };
  }

  /** The place of the block among the parameters; undefined if it asks for no state of it. */
  #placeOfBlock({ method, params }: UpstreamCall): number | undefined {
    const place = stateMethods[method];
    return place !== undefined && this.#isBlock(params[place])
      ? place
      : undefined;
  }

  #isBlock(block: unknown): boolean {
    return isHexString(block) && Number(block) === this.upstream.number;
  }

  /** False for another form of value, and for the block of another branch. */
  #isValue(call: UpstreamCall, result: unknown): boolean {
    if (call.method === BLOCK_METHOD && this.#isBlock(call.params[0])) {
      const { hash } = asRecord(result);
      return String(hash).toLowerCase() === this.upstream.hash.toLowerCase();
    }
    return result !== undefined && (forms[call.method]?.(result) ?? true);
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

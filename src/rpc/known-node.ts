import { isHexString } from "ethers";
import pLimit from "p-limit";

import type { VaultError } from "../errors.js";
import { Redactor } from "../foreign-text.js";
import { asRecord } from "../json.js";
import type { Address } from "../protocol/index.js";

/**
 * Requests at the same time. Hardhat's pool opens up to two connections for each,
 * because one is not free yet when the next request is sent.
 */
const MAX_CONCURRENCY = 16;

/** Refusals within this time are of requests that were sent together, and count once. */
const SLOWED_AGAIN_MS = 200;

/** A usable node is not further behind, and few keep older state. */
const MOST_BLOCKS_BEHIND = 128;

/** How many requests are sent at a time: fewer if the node limits the rate. */
export class Pace {
  public readonly turns = pLimit(MAX_CONCURRENCY);
  /** The number of turns, with a fraction. */
  #atOnce = MAX_CONCURRENCY;
  #slowedAt = -Infinity;

  /** As TCP does: half as many turns after a refusal, one more after four times as many answers. */
  public adapt(isRateLimited: boolean): void {
    if (!isRateLimited && this.#atOnce === MAX_CONCURRENCY) {
      return;
    }
    const now = performance.now();
    if (!isRateLimited) {
      const faster = this.#atOnce + 0.25 / this.#atOnce;
      this.#atOnce = Math.min(MAX_CONCURRENCY, faster);
    } else if (now - this.#slowedAt > SLOWED_AGAIN_MS) {
      this.#slowedAt = now;
      this.#atOnce = Math.max(1, this.#atOnce / 2);
    }
    this.turns.concurrency = Math.floor(this.#atOnce);
  }
}

/** What is known about a node, shared by all clients of a connection. */
export class KnownNode {
  /** False if it takes a block's number, and not its hash (EIP-1898). */
  public takesHashes: boolean | undefined;
  /** True if it applies state overrides, which the lens needs. */
  public runsLens: boolean | undefined;
  public isDevelopment: boolean | undefined;
  /** The account that settles unless another is named. */
  public sender: Address | undefined;
  #newestBlock = -1;

  public readonly pace = new Pace();
  /**
   * The newest failure of a request that is being retried. A deadline that ends other work
   * meanwhile, such as a lookup of an address, has it as its reason.
   */
  public failing: VaultError | undefined;

  /**
   * Tasks that change a development chain, one after the other: one that writes back a value
   * or reverts to a snapshot must not undo changes of another.
   */
  public readonly changes = pLimit(1);
  /** What each account sends, by its lower-case address, one after the other. */
  public readonly senders = new Map<string, ReturnType<typeof pLimit>>();

  /**
   * @param redactor Knows the secrets of the connection.
   * @param isBehindHardhat True if Hardhat and its plugins handle each request.
   */
  constructor(
    public readonly redactor = new Redactor(),
    public readonly isBehindHardhat = false,
  ) {}

  /** Notes a block that some node behind the URL has. Other nodes may be behind. */
  public noteBlock(number: number): void {
    this.#newestBlock = Math.max(this.#newestBlock, number);
  }

  /** True if a request names a recent block that some node has. */
  public hasBlockOf(params: readonly unknown[]): boolean {
    return params.some((param) =>
      isHexString(param)
        ? Number(param) <= this.#newestBlock &&
          Number(param) > this.#newestBlock - MOST_BLOCKS_BEHIND
        : // Only a block that some node has is named by its hash.
          this.takesHashes === true &&
          asRecord(param)["blockHash"] !== undefined,
    );
  }
}

import { ZeroAddress } from "ethers";
import pLimit from "p-limit";

import { VaultError, hasErrorCode } from "../errors.js";
import type { VaultOrder } from "../protocol/index.js";
import { getBalance } from "../rpc/chain.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { fewRetries } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./contracts.js";
import { encodeCall, viewOf } from "./codec.js";
import type { LocatedCall } from "./codec.js";
import {
  callLens,
  encodeReadOrders,
  entryAnswer,
  learnIfLensRuns,
  tryLens,
  unpackOrder,
} from "./lens/lens.js";
import type { LensAnswer, LensEntry } from "./lens/lens.js";
import { readAnswer, readCall, withArchiveCheck } from "./read-at-block.js";
import type { ReadContext, FailedReading } from "./read-at-block.js";

/** An order and its id. Values are unscaled. */
export type Order = { readonly orderID: bigint } & VaultOrder;

/** An order that could not be read. */
export interface FailedOrder extends FailedReading {
  readonly orderID: bigint;
}

export type ListedOrder = Order | FailedOrder;

/**
 * True if the order could not be read: its `error` has the reason.
 *
 * @example
 * ```ts
 * for await (const order of vault.orders()) {
 *   if (isFailedOrder(order)) console.log(order.error.code);
 * }
 * ```
 */
export function isFailedOrder(order: ListedOrder): order is FailedOrder {
  return "error" in order;
}

/**
 * True if every value is zero, which some contracts return for an unknown id.
 *
 * @example
 * ```ts
 * for await (const order of vault.orders({ ids: [1n, 9n] })) {
 *   if (isEmptyOrder(order)) console.log(order.orderID); // 9n
 * }
 * ```
 */
export function isEmptyOrder(order: ListedOrder): order is Order {
  return (
    !isFailedOrder(order) &&
    // Of nearly every order, this suffices, and makes no list.
    order.exType === "" &&
    Object.entries(order).every(
      ([name, value]) => name === "orderID" || zeros.includes(value),
    )
  );
}

const zeros: readonly unknown[] = [0n, 0, "", ZeroAddress];

/** Requests for one order at the same time. */
const SINGLE_READS = 16;

/** Of so many ids in a row that used up their share of the gas, a sample is asked again. */
const LONG_ROW = 16;
const SAMPLE = 4;

/** Why an id of such a row failed: it used up all gas, as an invalid opcode does. */
const USED_UP: RevertReason = {
  kind: "invalid-opcode",
  text: "it used up 500,000 gas, as did the ids around it",
  data: "0x",
};

/** Orders, perhaps unpacked as they are iterated: their bytes take less memory. */
export type Orders = Iterable<ListedOrder> & { readonly length: number };

/** The answer to a request for orders. */
export interface Chunk {
  /** The first of the ids that were requested; none if the node refuses so many. */
  readonly ids: readonly bigint[];
  /** Undefined if each order is a request of its own. */
  readonly answer?: LensAnswer;
  /** The most ids that the next request should be for. */
  readonly nextSize: number;
}

/** Reads orders at one block. */
export class OrderReader {
  readonly #single: ReturnType<typeof pLimit>;

  /**
   * @param isRange True if each id is the one after the id before it.
   * @param singleReads Requests for one order at the same time.
   */
  constructor(
    private readonly context: ReadContext,
    private readonly target: LocatedAddress,
    private readonly isRange: boolean,
    private readonly singleReads = SINGLE_READS,
  ) {
    this.#single = pLimit(singleReads);
  }

  /**
   * Requests the first of some ids, as many as the gas of one request allows.
   *
   * @throws VaultError if the node does not answer; VAULT_REORGED
   */
  public async request(ids: readonly bigint[]): Promise<Chunk> {
    const { context, target, isRange, singleReads } = this;
    const { rpc, from } = context;
    // At the caller's address, the lens would replace the trading contract.
    const isPlain = rpc.node.runsLens === false || from === target.address;
    if (isPlain) {
      return { ids: ids.slice(0, singleReads), nextSize: singleReads };
    }
    if (ids.length === 1) {
      return { ids, nextSize: Infinity };
    }
    const call = encodeReadOrders(target.address, ids, isRange);
    const answer = await callLens(
      { ...context, rpc: rpc.withRetries(fewRetries) },
      call,
    ).catch(async (error: unknown) => {
      await this.#requireNode(error);
      return undefined;
    });
    const { length } = answer?.entries ?? [];
    if (answer === undefined || length === 0 || length > ids.length) {
      await learnIfLensRuns(rpc, from);
      return { ids: [], nextSize: Math.floor(ids.length / 2) };
    }
    const isCut = length < ids.length;
    const row = usedUpAtEnd(answer.entries);
    // The next request may have the gas for a longer row of them.
    const isRowCut = isRange && isCut && row < Math.min(LONG_ROW, length);
    return {
      ids: ids.slice(0, isRowCut ? length - row : length),
      answer,
      nextSize: isCut ? length : Infinity,
    };
  }

  /**
   * The orders of a part. Those that used up their share of the gas are requested again.
   *
   * @throws VaultError if the node does not answer; VAULT_REORGED; VAULT_NO_CODE
   */
  public async orders({ ids, answer }: Chunk): Promise<Orders> {
    if (answer === undefined) {
      return await Promise.all(
        ids.map(async (id) => await this.#readAlone(id)),
      );
    }
    const { context } = this;
    // Of a call, an error names all but its data.
    const call = this.#callOf(0n);
    const row = usedUpAtEnd(answer.entries.slice(0, ids.length));
    const rowStart = ids.length - row;
    const isUnknown =
      this.isRange &&
      row >= LONG_ROW &&
      (await this.#useUpMore(ids.slice(rowStart, rowStart + SAMPLE)));
    const others = new Map<number, ListedOrder>();
    const readings: Array<Promise<unknown>> = [];
    for (const [index, orderID] of ids.entries()) {
      const entry = answer.entries[index];
      // Most are packed: a promise for each order would be more than its bytes.
      if (entry === undefined || entry.status === "packed") {
        continue;
      }
      const given =
        isUnknown && index >= rowStart
          ? { reverted: USED_UP }
          : entryAnswer(answer, entry);
      const reading =
        given === undefined
          ? this.#readAlone(orderID)
          : this.#toListed(
              orderID,
              readAnswer(context, call, given, !entry.hasCode),
            );
      readings.push(reading.then((order) => others.set(index, order)));
    }
    await Promise.all(readings);
    const iterate = () => unpackAll(answer, ids, others);
    return { length: ids.length, [Symbol.iterator]: iterate };
  }

  /**
   * True if ids use up a quarter of a request's gas each, which is more than any order needs:
   * then their row is taken for unknown ids. Else each of the row is read by itself.
   */
  async #useUpMore(ids: readonly bigint[]): Promise<boolean> {
    const calls = ids.map((id) => this.#callOf(id));
    const { entries = [] } = (await tryLens(this.context, calls)) ?? {};
    const usedUp = entries.filter(({ status }) => status === "usedUp");
    return usedUp.length === ids.length;
  }

  /** Reads an order by a plain call, with all gas that the node allows. */
  async #readAlone(orderID: bigint): Promise<ListedOrder> {
    const call = this.#callOf(orderID);
    const reading = this.#single(readCall, this.context, call);
    return await this.#toListed(orderID, reading);
  }

  #callOf(orderID: bigint): LocatedCall {
    return { ...encodeCall("getOrderInfo", [orderID]), ...this.target };
  }

  /** @throws The error, if it is not only of this order */
  async #toListed(
    orderID: bigint,
    reading: Promise<unknown>,
  ): Promise<ListedOrder> {
    try {
      // the decoder follows the table entry that makes the type
      return { orderID, ...((await reading) as VaultOrder) };
    } catch (error) {
      const isOfOrder =
        VaultError.isVaultError(error) &&
        error.kind === "chain" &&
        error.code !== "VAULT_NO_CODE";
      const failure = isOfOrder ? error : await this.#requireNode(error);
      return { orderID, error: failure };
    }
  }

  /**
   * Separates a request that is too large from a node that is gone, by a small request
   * for state of the same block.
   *
   * @returns The error of the request, if the node answers.
   * @throws VaultError if it does not, or if the error is no failed request
   */
  async #requireNode(error: unknown): Promise<VaultError> {
    if (
      !VaultError.isVaultError(error) ||
      error.kind !== "rpc" ||
      hasErrorCode(error, "VAULT_ARCHIVE_NODE_NEEDED", "VAULT_REORGED")
    ) {
      throw error;
    }
    const { rpc, block: pin } = this.context;
    await withArchiveCheck(
      rpc,
      pin,
      async (block) => await getBalance(rpc, this.target.address, block),
    );
    return error;
  }
}

/** How many of the last entries used up their share of the gas. */
function usedUpAtEnd(entries: readonly LensEntry[]): number {
  const last = entries.findLastIndex(({ status }) => status !== "usedUp");
  return entries.length - 1 - last;
}

function* unpackAll(
  { bytes, entries }: LensAnswer,
  ids: readonly bigint[],
  others: ReadonlyMap<number, ListedOrder>,
): Generator<ListedOrder, void> {
  const view = viewOf(bytes);
  for (const [index, orderID] of ids.entries()) {
    const other = others.get(index);
    const entry = entries[index];
    if (other !== undefined) {
      yield other;
    } else if (entry !== undefined) {
      yield unpackOrder(bytes, view, entry, orderID);
    }
  }
}

import type { Buffer } from "node:buffer";

import { ZeroAddress } from "ethers";
import pLimit from "p-limit";

import { VaultError } from "../errors.js";
import type { VaultOrder } from "../protocol/index.js";
import { getBalance } from "../rpc/accounts.js";
import { isReorganised } from "../rpc/blocks.js";
import { fewRetries } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./addresses.js";
import { addressAt, encodeCall, viewOf } from "./codec.js";
import type { FailedReading, Context } from "./read-at-block.js";
import {
  PACKED_SIZE,
  callLens,
  canRunLens,
  encodeReadOrders,
  entryAnswer,
  tryLens,
} from "./lens/lens.js";
import type { LensAnswer, LensEntry } from "./lens/lens.js";
import { readAnswer, readCall, requestAtBlock } from "./read-at-block.js";

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

const getOrderInfo = { operation: "getOrderInfo", role: "trading" } as const;

/** So many unknown ids in a row that fail end a list without a last id. */
export const FAILED_IDS_AT_END = 16;

/** Why an id failed that was not asked for by itself. */
export const USED_UP = "it used up 500,000 gas, as did the ids around it";

/** So many of the ids that used up their share are tried with more. */
const SAMPLE = 4;

/** Requests for one order at the same time. */
const SINGLE_READS = 16;

/** Orders, perhaps unpacked as they are iterated: their bytes take less memory. */
export type Orders = Iterable<ListedOrder> & { readonly length: number };

/** What a request found. */
export interface Part {
  /** Of the first ids that were requested; none if the node refuses so many. */
  readonly orders: Orders;
  /** Ids behind them, for {@link OrderReader.readUsedUp}. */
  readonly usedUp: readonly bigint[];
  /** The most ids that the next request should be for. */
  readonly most: number;
}

/** Reads orders at one block. */
export class OrderReader {
  readonly #single: ReturnType<typeof pLimit>;

  /**
   * @param isRange True if each id is the one after the id before it.
   * @param concurrency Requests for one order at the same time.
   */
  constructor(
    private readonly context: Context,
    private readonly target: LocatedAddress,
    private readonly isRange: boolean,
    concurrency = SINGLE_READS,
  ) {
    this.#single = pLimit(concurrency);
  }

  /**
   * Reads the first of some ids: as many as the gas of one request allows, or each by a
   * request of its own if the node cannot run the lens.
   *
   * @throws VaultError if the node does not answer; VAULT_REORGED; VAULT_NO_CODE
   */
  public async read(ids: readonly bigint[]): Promise<Part> {
    const { context, target, isRange } = this;
    const { rpc, from } = context;
    // At the caller's address, the lens would replace the trading contract.
    const isPlain = rpc.node.runsLens === false || from === target.address;
    if (isPlain || ids.length === 1) {
      const orders = await this.#readEach(ids.slice(0, SINGLE_READS));
      return { orders, usedUp: [], most: SINGLE_READS };
    }
    let answer: LensAnswer;
    try {
      const data = encodeReadOrders(target.address, ids, isRange);
      const patient = rpc.withRetries(fewRetries);
      answer = await callLens({ ...context, rpc: patient }, data);
      const { length } = answer.entries;
      if (length === 0 || length > ids.length) {
        throw rpc
          .parser("eth_call")
          .invalid(`${length} orders for ${ids.length} ids`);
      }
    } catch (error) {
      await this.#requireNode(error);
      await canRunLens(rpc, from);
      return { orders: [], usedUp: [], most: Math.floor(ids.length / 2) };
    }
    const { length } = answer.entries;
    const most = length < ids.length ? length : Infinity;
    const end =
      answer.entries.findLastIndex(({ status }) => status !== "usedUp") + 1;
    if (isRange && length - end >= FAILED_IDS_AT_END) {
      const orders = await this.#ordersIn(answer, ids.slice(0, end));
      return { orders, usedUp: ids.slice(end, length), most };
    }
    // The next request may have enough gas for a longer row of them.
    const count = isRange && length < ids.length && end > 0 ? end : length;
    const orders = await this.#ordersIn(answer, ids.slice(0, count));
    return { orders, usedUp: [], most };
  }

  /**
   * Reads ids in a row of which each used up its share of the gas, as unknown ones do.
   * They are read one by one unless the first of them use up a quarter of a request's gas
   * each, too: more than any order needs.
   */
  public async readUsedUp(ids: readonly bigint[]): Promise<ListedOrder[]> {
    const { context, target } = this;
    const first = ids.slice(0, SAMPLE).map((id) => ({
      target: target.address,
      data: encodeCall(getOrderInfo.operation, [id]).data,
    }));
    const answer = await tryLens(context, first);
    const { entries = [] } = answer ?? {};
    if (
      entries.length < first.length ||
      entries.some(({ status }) => status !== "usedUp")
    ) {
      return await this.#readEach(ids);
    }
    const reverted = { kind: "unknown", text: USED_UP, data: "0x" } as const;
    const given = { reverted };
    const read = await readAnswer(context, getOrderInfo, target, given, false);
    return await Promise.all(
      ids.map(async (id) => await this.#toListed(id, read)),
    );
  }

  async #readEach(ids: readonly bigint[]): Promise<ListedOrder[]> {
    return await Promise.all(ids.map(async (id) => await this.readAlone(id)));
  }

  async #ordersIn(answer: LensAnswer, ids: readonly bigint[]): Promise<Orders> {
    const others = new Map<number, ListedOrder>();
    const reads: Array<Promise<unknown>> = [];
    for (const [index, orderID] of ids.entries()) {
      const entry = answer.entries[index];
      // Most are packed: a promise for each order would be more than its bytes.
      if (entry !== undefined && entry.status !== "packed") {
        const reading = this.#readOther(answer, entry, orderID);
        reads.push(reading.then((order) => others.set(index, order)));
      }
    }
    await Promise.all(reads);
    const iterate = () => unpackAll(answer, ids, others);
    return { length: ids.length, [Symbol.iterator]: iterate };
  }

  async #readOther(
    answer: LensAnswer,
    entry: LensEntry,
    orderID: bigint,
  ): Promise<ListedOrder> {
    if (entry.status === "tooLong" || entry.status === "usedUp") {
      return await this.readAlone(orderID);
    }
    const given = entryAnswer(answer, entry);
    const { context, target } = this;
    return await this.#toListed(
      orderID,
      await readAnswer(context, getOrderInfo, target, given, !entry.hasCode),
    );
  }

  /** Reads an order by a plain call, with all gas that the node allows. */
  public async readAlone(orderID: bigint): Promise<ListedOrder> {
    const { context, target } = this;
    const call = encodeCall(getOrderInfo.operation, [orderID]);
    const read = await this.#single(readCall, context, call, target).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    return await this.#toListed(orderID, read);
  }

  /** @throws The error, if it is not only of this order */
  async #toListed(
    orderID: bigint,
    read: { readonly value: unknown } | { readonly error: unknown },
  ): Promise<ListedOrder> {
    if ("value" in read) {
      // the decoder follows the table entry that makes the type
      return { orderID, ...(read.value as VaultOrder) };
    }
    const { error } = read;
    const isOfOrder =
      VaultError.isVaultError(error) &&
      error.kind === "chain" &&
      error.code !== "VAULT_NO_CODE";
    return {
      orderID,
      error: isOfOrder ? error : await this.#requireNode(error),
    };
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
      error.code === "VAULT_ARCHIVE_NODE_NEEDED" ||
      isReorganised(error)
    ) {
      throw error;
    }
    const { rpc, block: pin } = this.context;
    const { address } = this.target;
    await requestAtBlock(
      rpc,
      pin,
      async (block) => await getBalance(rpc, address, block),
    );
    return error;
  }
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
      yield unpack(bytes, view, entry, orderID);
    }
  }
}

/** Reads an order as `PACKED` in contracts/lens/VaultLens.sol tells. */
function unpack(
  bytes: Buffer,
  view: DataView,
  { start, end }: LensEntry,
  orderID: bigint,
): Order {
  return {
    orderID,
    exType: bytes.toString("utf8", start + PACKED_SIZE, end),
    holder: addressAt(bytes, start + 4),
    number: amountAt(view, start + 32),
    exFee: amountAt(view, start + 44),
    lockFee: amountAt(view, start + 56),
    newLockFee: amountAt(view, start + 68),
    openPrice: amountAt(view, start + 80),
    marginAmount: amountAt(view, start + 92),
    marginFee: amountAt(view, start + 104),
    startTime: view.getBigUint64(start + 24),
    closePrice: amountAt(view, start + 116),
    contractType: view.getUint8(start + 2),
    state: view.getUint8(start + 3),
  };
}

function amountAt(view: DataView, offset: number): bigint {
  const high = view.getUint32(offset);
  const low = view.getBigUint64(offset + 4);
  return high === 0 ? low : (BigInt(high) << 64n) | low;
}

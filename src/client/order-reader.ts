import type { Buffer } from "node:buffer";

import { ZeroAddress } from "ethers";
import pLimit from "p-limit";

import { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { VaultOrder } from "../protocol/index.js";
import { getBalance } from "../rpc/accounts.js";
import { isReorganised } from "../rpc/blocks.js";
import { fewRetries } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./addresses.js";
import { addressAt, encodeCall } from "./codec.js";
import type { FailedReading } from "./failed-reading.js";
import {
  PACKED_SIZE,
  callLens,
  canRunLens,
  encodeReadOrders,
  entryAnswer,
} from "./lens/lens.js";
import type { LensAnswer, LensEntry } from "./lens/lens.js";
import { readAnswer, readCall, requestAtBlock } from "./reader.js";
import type { Context } from "./reader.js";
import { viewOf } from "./words.js";

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

/** Decoded when it is handed out: its bytes take a fraction of the memory. */
type Packed = () => Order;

interface Part {
  readonly orders: ReadonlyArray<ListedOrder | Packed>;
  /** True if the contract has no id behind them. */
  readonly isEnd: boolean;
}

export interface Chunk {
  /** To be iterated once. Fewer than ids if the list ends in the chunk. */
  readonly orders: Iterable<ListedOrder>;
  readonly count: number;
  readonly isEnd: boolean;
  /** The most ids that a request should have: what its gas allowed, or half of what was refused. */
  readonly most: number;
}

interface Scan {
  /** True if each id is the one after the id before it. */
  readonly isRange: boolean;
  /** An id far behind the end of a list without a last id, undefined of another list. */
  readonly farId: bigint | undefined;
  /** Requests at the same time, if each is for one order. */
  readonly concurrency: number;
}

/** Reads orders at one block. */
export class OrderReader {
  readonly #alone: ReturnType<typeof pLimit>;
  #farReason: Promise<string | undefined> | undefined;

  constructor(
    private readonly context: Context,
    private readonly target: LocatedAddress,
    private readonly scan: Scan,
  ) {
    this.#alone = pLimit(scan.concurrency);
  }

  /**
   * Reads orders in one request; in several if its gas does not suffice for all, and in
   * halves if the node refuses it.
   *
   * @throws VaultError if the node does not answer; VAULT_REORGED; VAULT_NO_CODE
   */
  public async read(ids: readonly bigint[]): Promise<Chunk> {
    const orders: Array<ListedOrder | Packed> = [];
    let most = Infinity;
    let isEnd = false;
    while (orders.length < ids.length) {
      const asked = ids.slice(orders.length, orders.length + most);
      const part = await this.#readSome(asked);
      if (part === undefined) {
        most = Math.floor(asked.length / 2);
        continue;
      }
      orders.push(...part.orders);
      isEnd = part.isEnd;
      if (isEnd || (await this.#isOver(orders))) {
        break;
      }
      if (part.orders.length < asked.length) {
        most = part.orders.length;
      }
    }
    return { orders: unpackAll(orders), count: orders.length, isEnd, most };
  }

  /** True if a list without a last id does not go on behind these. */
  async #isOver(orders: Part["orders"]): Promise<boolean> {
    const failed = orders
      .slice(-FAILED_IDS_AT_END)
      .filter((order) => typeof order !== "function")
      .filter(isFailedOrder);
    if (this.scan.farId === undefined || failed.length < FAILED_IDS_AT_END) {
      return false;
    }
    if (failed.every(({ error }) => error.kind === "rpc")) {
      return true;
    }
    const unknown = await Promise.all(
      failed.map(async (order) => await this.isUnknown(order)),
    );
    return !unknown.includes(false);
  }

  /**
   * True if an id fails as one far behind the end does, which is no order.
   *
   * @throws VaultError if the node refuses that id
   */
  public async isUnknown({ error }: FailedOrder): Promise<boolean> {
    return error.kind !== "rpc" && reasonOf(error) === (await this.#askFar());
  }

  /** @returns Undefined if the id far behind the end is answered. */
  async #askFar(): Promise<string | undefined> {
    this.#farReason ??= this.readAlone(this.scan.farId ?? 0n).then((far) => {
      if (!isFailedOrder(far)) {
        return undefined;
      }
      if (far.error.kind === "rpc") {
        throw far.error;
      }
      return reasonOf(far.error);
    });
    return await this.#farReason;
  }

  /** @returns The first ones, at least one; undefined if the node refuses so many. */
  async #readSome(ids: readonly bigint[]): Promise<Part | undefined> {
    const { context, target, scan } = this;
    const { rpc, from } = context;
    // At the caller's address, the lens would replace the trading contract.
    const isPlain = rpc.node.runsLens === false || from === target.address;
    if (isPlain || ids.length === 1) {
      const orders = ids
        .slice(0, FAILED_IDS_AT_END)
        .map(async (id) => await this.readAlone(id));
      return { orders: await Promise.all(orders), isEnd: false };
    }
    let answer: LensAnswer;
    try {
      const data = encodeReadOrders(target.address, ids, scan.isRange);
      const patient = rpc.withRetries(fewRetries);
      answer = await callLens({ ...context, rpc: patient }, data);
      const { length } = answer.entries;
      if (length === 0 || length > ids.length) {
        throw rpc
          .parser("eth_call")
          .invalid(`${length} orders for ${ids.length} ids`);
      }
    } catch (error) {
      await this.#assertNodeAnswers(error);
      await canRunLens(rpc, from);
      return undefined;
    }
    return await this.#ordersIn(answer, ids.slice(0, answer.entries.length));
  }

  async #ordersIn(answer: LensAnswer, ids: readonly bigint[]): Promise<Part> {
    const { isRange, farId } = this.scan;
    const isOpen = farId !== undefined;
    const { entries } = answer;
    const end = entries.findLastIndex((entry) => !isUsedUp(entry)) + 1;
    const before = ids.slice(0, end);
    const behind = ids.slice(end);
    if (!isRange || behind.length < FAILED_IDS_AT_END) {
      return { orders: await this.#ordersOf(answer, ids), isEnd: false };
    }
    // A long run of ids that used up their share, of which hardly one has to be asked for.
    if (
      isOpen &&
      entries.slice(end).filter(({ status }) => status === "absent").length > 1
    ) {
      return { orders: await this.#ordersOf(answer, before), isEnd: true };
    }
    const error = await this.#errorOfAll(behind);
    if (error === undefined) {
      const some = isOpen ? ids.slice(0, end + FAILED_IDS_AT_END) : ids;
      return { orders: await this.#ordersOf(answer, some), isEnd: false };
    }
    const orders = await this.#ordersOf(answer, before);
    const failed = behind.map((orderID) => ({ orderID, error }));
    return { orders: [...orders, ...failed], isEnd: false };
  }

  /**
   * Guesses the error of all ids of a range from the first and the last one.
   *
   * @returns Undefined if they do not fail alike; without a last id, as unknown ids do
   */
  async #errorOfAll(ids: readonly bigint[]): Promise<VaultError | undefined> {
    const isOpen = this.scan.farId !== undefined;
    const [first, last] = await Promise.all([
      this.readAlone(ids.at(0) ?? 0n),
      this.readAlone(ids.at(-1) ?? 0n),
      // In the same wave.
      isOpen ? this.#askFar() : undefined,
    ]);
    if (!isFailedOrder(first) || !isFailedOrder(last)) {
      return undefined;
    }
    const { error } = first;
    const isAlike =
      error.kind === "chain" &&
      error.code === last.error.code &&
      error.details["reason"] === last.error.details["reason"];
    return isAlike && (!isOpen || (await this.isUnknown(first)))
      ? error
      : undefined;
  }

  async #ordersOf(
    answer: LensAnswer,
    ids: readonly bigint[],
  ): Promise<Part["orders"]> {
    const { entries, bytes } = answer;
    const view = viewOf(bytes);
    const orders: Array<ListedOrder | Packed> = [];
    const others: Array<Promise<void>> = [];
    for (const [index, entry] of entries.slice(0, ids.length).entries()) {
      const orderID = ids[index] ?? 0n;
      orders.push(() => unpack(bytes, view, entry, orderID));
      // Most are packed: a promise for each order would be more than its bytes.
      if (entry.status !== "packed") {
        const read = this.#readOther(answer, entry, orderID);
        others.push(
          read.then((order) => {
            orders[index] = order;
          }),
        );
      }
    }
    await Promise.all(others);
    return orders;
  }

  async #readOther(
    answer: LensAnswer,
    entry: LensEntry,
    orderID: bigint,
  ): Promise<ListedOrder> {
    if (entry.status === "tooLong" || isUsedUp(entry)) {
      return await this.readAlone(orderID);
    }
    const { context, target } = this;
    const given = entryAnswer(answer, entry);
    const lacksCode = !entry.hasCode;
    const read = await readAnswer(
      context,
      getOrderInfo,
      target,
      given,
      lacksCode,
    );
    return "value" in read
      ? toOrder(orderID, read.value)
      : { orderID, error: errorOfOrder(read.error) };
  }

  /** Reads an order by a plain call, with all gas that the node allows. */
  public async readAlone(orderID: bigint): Promise<ListedOrder> {
    const { context, target } = this;
    const call = encodeCall(getOrderInfo.operation, [orderID]);
    try {
      const order = await this.#alone(
        async () => await readCall(context, call, target),
      );
      return toOrder(orderID, order);
    } catch (thrown) {
      const error = errorOfOrder(thrown);
      if (error.kind === "rpc") {
        await this.#assertNodeAnswers(error);
      }
      return { orderID, error };
    }
  }

  /**
   * Separates a request that is too large from a node that is gone, by a small request
   * for state of the same block.
   *
   * @throws VaultError if the node does not answer
   */
  async #assertNodeAnswers(error: unknown): Promise<void> {
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
  }
}

function isUsedUp({ status }: LensEntry): boolean {
  return status === "usedUp" || status === "absent";
}

function toOrder(orderID: bigint, values: unknown): Order {
  // the decoder follows the table entry that makes the type
  return { orderID, ...(values as VaultOrder) };
}

function* unpackAll(
  orders: Part["orders"],
): Generator<ListedOrder, void, undefined> {
  for (const order of orders) {
    yield typeof order === "function" ? order() : order;
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

/** Returns the error of a single order; throws an error of the whole scan. */
function errorOfOrder(error: unknown): VaultError {
  if (
    !VaultError.isVaultError(error) ||
    error.code === "VAULT_NO_CODE" ||
    isReorganised(error) ||
    (error.kind !== "chain" && error.kind !== "rpc")
  ) {
    throw error;
  }
  return error;
}

/** Why an order failed, without figures, which name the id. */
function reasonOf({ code, cause, details, shortMessage }: VaultError): string {
  const selector = String(asRecord(cause)["data"]).slice(0, 10);
  const words = String(details["reason"] ?? shortMessage);
  return `${code} ${selector} ${words.replaceAll(/0x[0-9a-f]+|\d+/giu, "#")}`;
}

import { MaxUint256 } from "ethers";

import { VaultError, invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import type { OrderState, OrderStateName } from "../protocol/index.js";
import { getBlock, requireReadsOfBranch } from "../rpc/blocks.js";
import {
  checkOptions,
  optional,
  parseAddress,
  parseCount,
  parseEnum,
  parseUint,
  requireFixedBlock,
} from "./inputs.js";
import type { OptionsOf } from "./inputs.js";
import { OrderReader, isEmptyOrder, isFailedOrder } from "./order-reader.js";
import type {
  Chunk,
  FailedOrder,
  ListedOrder,
  Orders,
} from "./order-reader.js";
import { scanOptions } from "./read-at-block.js";
import type { Readable } from "./read-at-block.js";

const ordersOptions = {
  ...scanOptions,
  /** First id of the range. Default: 0. */
  firstId: optional<bigint | number>(),
  /** Last id of the range, included. Default: see {@link VaultClient.orders}. */
  lastId: optional<bigint | number>(),
  /** Ids in place of a range; their order is kept. */
  ids: optional<ReadonlyArray<bigint | number>>(),
  /**
   * Milliseconds until the last order, retries and the caller's own work included.
   * Default: no limit, and 300,000 for each request. After it, the iteration throws
   * VAULT_RPC_TIMEOUT. The orders before that are right, but there may be more.
   */
  timeout: optional<number>(),
  /** Only orders in this state; failed ones are listed in any case. */
  state: optional<OrderState | OrderStateName>(),
  /** Only orders of this holder; failed ones are listed in any case. */
  holder: optional<string>(),
  /** Throws the error of an order that cannot be read. Default: false. */
  strict: optional<boolean>(),
  /** Leaves out orders with every value zero. Default: false. */
  skipEmpty: optional<boolean>(),
  /** Most orders in one request. Default: 800. */
  chunkSize: optional<number>(),
  /**
   * Requests at the same time. Default: 3, and 16 if each order is a request, because the
   * node refuses state overrides.
   */
  concurrency: optional<number>(),
};

/** Options of {@link VaultClient.orders}: a range of ids, or a list of them. */
export interface OrdersOptions extends OptionsOf<typeof ordersOptions> {}

const MAX_CHUNK = 800;
/** Requests under way: more would be faster, but take more memory. */
const CONCURRENCY = 3;
/** So many ids in a row that fail end a list without a last id. */
export const FAILED_IDS_AT_END = 16;
/** So many ids in a row without an order end it, too. */
export const UNKNOWN_IDS_AT_END = 500;

/** @see VaultClient.orders */
export async function* readOrders(
  vault: Readable,
  options: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> {
  const stop = new AbortController();
  try {
    checkOptions("orders()", options, ordersOptions);
    const { signal, onProgress } = options;
    const isListed = parseFilter(options);
    const ids = parseIdOptions(options);
    parseCount(options.chunkSize, "chunkSize");
    const concurrency = parseCount(options.concurrency, "concurrency");
    signal?.throwIfAborted();
    const context = await vault.openContext(options);
    // Ends requests under way when the reader leaves.
    const rpc = context.rpc.withOptions({ signal: stop.signal });
    const target = await context.addressOf("trading", "orders");
    const { block } = context;
    const pin = typeof block === "object" ? block : await getBlock(rpc, block);
    const reader = new OrderReader(
      { ...context, rpc, block: pin },
      target,
      options.ids === undefined,
      concurrency,
    );
    // The first request may show that the others are not wanted so.
    const isCautious = ids.isOpen || rpc.node.runsLens !== true;
    const end = ids.isOpen ? new EndOfList() : undefined;
    let read = 0;
    for await (const part of readChunks(reader, ids, options, isCautious)) {
      for (const order of end?.leaveOut(part) ?? part) {
        if (isListed(order)) {
          yield order;
          signal?.throwIfAborted();
        }
      }
      read += part.length;
      const done = end?.length ?? read;
      if (done > 0) {
        // JavaScript also accepts an async one, whose rejection ends the list, too.
        await onProgress?.({ done, total: ids.isOpen ? done : ids.total });
      }
      if (end?.isReached === true) {
        break;
      }
    }
    end?.requireUnknown();
    await requireReadsOfBranch(rpc, pin);
  } finally {
    stop.abort();
  }
}

/**
 * Requests ids in their order, several chunks at once. What is requested depends only on
 * what was handed out, not on when others are answered.
 *
 * @param isCautious True if one request comes before the others.
 */
async function* readChunks(
  reader: OrderReader,
  ids: Ids,
  { chunkSize = MAX_CHUNK, concurrency = CONCURRENCY }: OrdersOptions,
  isCautious: boolean,
): AsyncGenerator<Orders, void, undefined> {
  let size = chunkSize;
  let atOnce = isCautious ? 1 : concurrency;
  let requested = 0;
  const underWay: Array<{ asked: readonly bigint[]; chunk: Promise<Chunk> }> =
    [];
  const request = (asked: readonly bigint[]) => {
    const chunk = reader.request(asked.slice(0, size));
    // A failure is thrown in its turn, or never if the reader has left.
    chunk.catch(() => undefined);
    return { asked, chunk };
  };
  for (;;) {
    while (underWay.length < atOnce && requested < ids.total) {
      const asked = ids.take(requested, size);
      requested += asked.length;
      underWay.push(request(asked));
    }
    const next = underWay.shift();
    if (next === undefined) {
      return;
    }
    const chunk = await next.chunk;
    yield await reader.orders(chunk);
    size = Math.min(size, chunk.nextSize);
    atOnce = concurrency;
    const rest = next.asked.slice(chunk.ids.length);
    if (rest.length > 0) {
      underWay.unshift(request(rest));
    }
  }
}

/** Finds the end of a list without a last id, and leaves out what is behind its last order. */
class EndOfList {
  /** Ids up to the last order. */
  public length = 0;
  #read = 0;
  #failedInARow = 0;
  /** Since the last order. They are unknown unless another order follows. */
  #failed: FailedOrder[] = [];

  public get isReached(): boolean {
    return (
      this.#failedInARow === FAILED_IDS_AT_END ||
      this.#read - this.length === UNKNOWN_IDS_AT_END
    );
  }

  /** @returns The orders, each after the ids before it that failed. */
  public *leaveOut(found: Orders): Generator<ListedOrder, void> {
    for (const order of found) {
      this.#read += 1;
      if (isFailedOrder(order)) {
        this.#failedInARow += 1;
        this.#failed.push(order);
      } else {
        this.#failedInARow = 0;
        if (!isEmptyOrder(order)) {
          this.length = this.#read;
          yield* this.#failed;
          this.#failed = [];
          yield order;
        }
      }
      if (this.isReached) {
        return;
      }
    }
  }

  /** @throws VaultError if the node refused an id at the end, or the contract all ids */
  public requireUnknown(): void {
    const isAllRefused = this.#failed.length === this.#read;
    for (const { error } of this.#failed) {
      // An empty array has an invalid opcode for each id.
      const isOutOfArray = asRecord(error.cause)["kind"] === "invalid-opcode";
      if (error.kind !== "chain" || (isAllRefused && !isOutOfArray)) {
        throw error;
      }
    }
  }
}

/** Which orders are listed; throws the error of one that failed, if that is wanted. */
function parseFilter(options: OrdersOptions): (order: ListedOrder) => boolean {
  requireFixedBlock(options.blockTag, "blockTag");
  const { strict, skipEmpty } = options;
  const state =
    options.state === undefined
      ? undefined
      : parseEnum("orderState", options.state, "state");
  const holder =
    options.holder === undefined
      ? undefined
      : parseAddress(options.holder, "holder");
  return (order) => {
    if (!isFailedOrder(order)) {
      return (
        (state === undefined || order.state === state) &&
        (holder === undefined || order.holder === holder) &&
        !(skipEmpty === true && isEmptyOrder(order))
      );
    }
    if (strict === true) {
      throw errorNaming(order);
    }
    return true;
  };
}

/** The error with the id of its order. */
function errorNaming({ orderID, error }: FailedOrder): VaultError {
  const { code, details, cause } = error;
  const place = "operation" in details ? "operation" : "method";
  const named = `${details[place]} of order ${orderID}`;
  return new VaultError(code, { ...details, [place]: named }, cause);
}

/** Ids to read: a list, or a range, which is open without a last id. */
interface Ids {
  readonly isOpen: boolean;
  readonly total: number;
  /** The ids of some places in the list or range. */
  readonly take: (start: number, count: number) => readonly bigint[];
}

function parseIdOptions({
  ids,
  firstId,
  lastId,
}: Pick<OrdersOptions, "ids" | "firstId" | "lastId">): Ids {
  if (ids !== undefined) {
    if (firstId !== undefined || lastId !== undefined) {
      const problem = "the option `ids` or a range can be given, not both";
      throw invalidArgument("ids", problem);
    }
    const list = ids.map((id, index) => parseUint(id, `ids[${index}]`));
    const take: Ids["take"] = (start, count) =>
      list.slice(start, start + count);
    return { isOpen: false, total: list.length, take };
  }
  const first = parseUint(firstId ?? 0n, "firstId");
  const last = parseUint(lastId ?? MaxUint256, "lastId");
  if (first > last) {
    throw invalidArgument(
      "firstId",
      `${first} is above the option \`lastId\`, which is ${last}`,
    );
  }
  const total = Number(last - first + 1n);
  const take: Ids["take"] = (start, count) =>
    Array.from(
      { length: Math.min(count, total - start) },
      (_, index) => first + BigInt(start + index),
    );
  return { isOpen: lastId === undefined, total, take };
}

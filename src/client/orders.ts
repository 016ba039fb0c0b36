import { MaxUint256 } from "ethers";

import { VaultError, invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import type { OrderState, OrderStateName } from "../protocol/index.js";
import { getBlock, requireSameBranch } from "../rpc/blocks.js";
import {
  parseAddress,
  parseCount,
  parseEnum,
  parseUint256,
  requireFixedBlock,
} from "./inputs.js";
import { checkOptions, option } from "./options.js";
import type { OneOf, OptionsOf } from "./options.js";
import {
  FAILED_IDS_AT_END,
  OrderReader,
  isEmptyOrder,
  isFailedOrder,
} from "./order-reader.js";
import type { Chunk, FailedOrder, ListedOrder, Order } from "./order-reader.js";
import { scanOptions } from "./reader.js";
import type { Readable, ScanProgress } from "./reader.js";

const rangeOptions = {
  /** First id of the range. Default: 0. */
  firstId: option<bigint | number>(),
  /** Last id of the range, included. Default: see {@link VaultClient.orders}. */
  lastId: option<bigint | number>(),
};

const idOptions = {
  /** Ids in place of a range; their order is kept. */
  ids: option<ReadonlyArray<bigint | number>>(),
};

const filterOptions = {
  ...scanOptions,
  /**
   * Milliseconds until the last order, retries and the caller's own work included.
   * Default: no limit, and 300,000 for each request. After it, the iteration throws
   * VAULT_RPC_TIMEOUT. The orders before that are right, but there may be more.
   */
  timeout: option<number>(),
  /** Only orders in this state; failed ones are listed in any case. */
  state: option<OrderState | OrderStateName>(),
  /** Only orders of this holder; failed ones are listed in any case. */
  holder: option<string>(),
  /** Throws the error of an order that cannot be read. Default: false. */
  strict: option<boolean>(),
  /** Leaves out orders with every value zero. Default: false. */
  skipEmpty: option<boolean>(),
  /** Most orders in one request. Default: 800. */
  chunkSize: option<number>(),
  /**
   * Requests at the same time. Default: 3, up to 16 if the gas of a request suffices for
   * fewer orders, and 16 if the node refuses state overrides and each order is a request.
   */
  concurrency: option<number>(),
};

/** Options of {@link VaultClient.orders}: a range of ids, or a list of them. */
export type OrdersOptions = OptionsOf<typeof filterOptions> &
  OneOf<typeof rangeOptions, typeof idOptions>;

const ordersOptions = { ...filterOptions, ...rangeOptions, ...idOptions };

/** A range with a last id is no longer. */
const MOST_IDS = 2n ** 40n;
/** So far behind its first id, an open range has no order. Its contract may count in 32 bits. */
const FAR_BEHIND = 2n ** 31n;
const MAX_CHUNK = 800;
/** Chunks under way: more would be faster, but take more memory. */
const CONCURRENCY = 3;
/** The same, if each is for few orders. */
const MOST_AT_ONCE = 16;
/** So many ids in a row without an order end a list without a last id. */
export const UNKNOWN_IDS_AT_END = 500;

/** @see VaultClient.orders */
export async function* readOrders(
  vault: Readable,
  options: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> {
  const stop = new AbortController();
  try {
    checkOptions("orders()", options, ordersOptions);
    const { signal, onProgress, strict } = options;
    const { selected, matches, chunkSize, concurrency } = parseOptions(options);
    const { first, total, take } = selected;
    signal?.throwIfAborted();
    const context = await vault.openContext(options);
    // Ends requests under way when the reader leaves.
    const rpc = context.rpc.withOptions({ signal: stop.signal });
    const { block } = context;
    const target = await context.locate("trading", "orders");
    const pin = typeof block === "object" ? block : await getBlock(rpc, block);
    const isOpen = total === Infinity;
    const far = first + FAR_BEHIND;
    const reader = new OrderReader({ ...context, rpc, block: pin }, target, {
      isRange: options.ids === undefined,
      farId: isOpen ? (far < MaxUint256 ? far : MaxUint256) : undefined,
      concurrency: concurrency ?? MOST_AT_ONCE,
    });
    const isCautious = isOpen || rpc.node.runsLens !== true;
    const chunks = chunksOf(reader, take, chunkSize, concurrency, isCautious);
    const parts = isOpen
      ? untilEnd(chunks, reader, first)
      : withTotal(chunks, total);
    for await (const { orders, progress } of parts) {
      for (const order of orders) {
        if (isFailedOrder(order) && strict === true) {
          throw errorNaming(order);
        }
        if (isFailedOrder(order) || matches(order)) {
          yield order;
          signal?.throwIfAborted();
        }
      }
      if (progress.done > 0) {
        // JavaScript also accepts an async one, whose rejection ends the list, too.
        await onProgress?.(progress);
      }
    }
    await requireSameBranch(rpc, pin);
  } finally {
    stop.abort();
  }
}

/** The error with the id of its order. */
function errorNaming({ orderID, error }: FailedOrder): VaultError {
  const { code, details, cause } = error;
  const name = `order ${orderID}`;
  const named =
    "operation" in details
      ? { operation: `${details["operation"]} of ${name}` }
      : { method: `${details["method"]} (${name})` };
  return new VaultError(code, { ...details, ...named }, cause);
}

/**
 * Reads chunks in the order of their ids; several are under way, as many orders as with
 * chunks of full size. What is requested depends only on the chunks handed out, not on when
 * others are answered.
 *
 * @param isCautious True if the first chunk may show that the others are not wanted so.
 */
async function* chunksOf(
  reader: OrderReader,
  take: Selected["take"],
  chunkSize: number,
  concurrency: number | undefined,
  isCautious: boolean,
): AsyncGenerator<Chunk, void, undefined> {
  let taken = 0;
  const underWay: Array<Promise<Chunk>> = [];
  let size = chunkSize;
  let atOnce = isCautious ? 1 : (concurrency ?? CONCURRENCY);
  for (;;) {
    while (underWay.length < atOnce) {
      const next = take(taken, size);
      if (next.length === 0) {
        break;
      }
      taken += next.length;
      const chunk = reader.read(next);
      // A failure is thrown in its turn, or never if the reader has left.
      chunk.catch(() => undefined);
      underWay.push(chunk);
    }
    const chunk = await underWay.shift();
    if (chunk === undefined) {
      return;
    }
    size = Math.min(size, chunk.most);
    const asMany = Math.ceil((CONCURRENCY * chunkSize) / size);
    atOnce = concurrency ?? Math.min(MOST_AT_ONCE, asMany);
    yield chunk;
  }
}

interface Part {
  readonly orders: Iterable<ListedOrder>;
  readonly progress: ScanProgress;
}

async function* withTotal(
  chunks: AsyncIterable<Chunk>,
  total: number,
): AsyncGenerator<Part, void, undefined> {
  let done = 0;
  for await (const { orders, count } of chunks) {
    done += count;
    yield { orders, progress: { done, total } };
  }
}

/**
 * Follows a range to its end, and leaves out the unknown ids, which return zeros or fail
 * as an id far behind the end does.
 *
 * @throws VaultError if the end is not known: the first error if no id is answered, since a
 * contract that refuses to be read may have orders; and an error of the node
 */
async function* untilEnd(
  chunks: AsyncIterable<Chunk>,
  reader: OrderReader,
  first: bigint,
): AsyncGenerator<Part, void, undefined> {
  /** Read last, and listed if it turns out that the list goes on behind them. */
  let held: FailedOrder[] = [];
  let [withoutOrder, unknown, refused] = [0, 0, 0];
  let firstError: VaultError | undefined;
  let isAnswered = false;
  let isOver = false;
  let length = 0;
  for await (const chunk of chunks) {
    const orders: ListedOrder[] = [];
    for (const order of chunk.orders) {
      const { orderID } = order;
      withoutOrder += 1;
      if (!isFailedOrder(order)) {
        isAnswered = true;
        [unknown, refused] = [0, 0];
        orders.push(...held);
        held = [];
        if (!isEmptyOrder(order)) {
          orders.push(order);
          withoutOrder = 0;
          length = Number(orderID - first + 1n);
        }
      } else if (await reader.isUnknown(order)) {
        [unknown, refused] = [unknown + 1, 0];
        firstError ??= order.error;
        if (mayBeOrder(order)) {
          held.push(order);
        }
      } else {
        const isRefused = order.error.kind === "rpc";
        [unknown, refused] = [0, isRefused ? refused + 1 : 0];
        firstError ??= order.error;
        held.push(order);
        if (!isRefused) {
          orders.push(...held);
          held = [];
        }
      }
      isOver =
        unknown === FAILED_IDS_AT_END ||
        refused === FAILED_IDS_AT_END ||
        withoutOrder === UNKNOWN_IDS_AT_END;
      if (isOver) {
        break;
      }
    }
    yield { orders, progress: { done: length, total: length } };
    if (isOver || chunk.isEnd) {
      break;
    }
  }
  const last = held.at(-1);
  if (refused === FAILED_IDS_AT_END && last !== undefined) {
    throw last.error;
  }
  // An empty array has an invalid opcode for each id.
  const isEmpty = asRecord(firstError?.cause)["kind"] === "invalid-opcode";
  if (isOver && !isAnswered && !isEmpty && firstError !== undefined) {
    throw firstError;
  }
  const orders = held.filter(({ error }) => error.kind === "rpc");
  if (orders.length > 0) {
    yield { orders, progress: { done: length, total: length } };
  }
}

/** True if it failed without a reason, as an order behind a proxy does that needs more gas. */
function mayBeOrder({ error }: FailedOrder): boolean {
  return asRecord(error.cause)["kind"] === "none";
}

function parseOptions(options: OrdersOptions) {
  requireFixedBlock(options.blockTag, "blockTag");
  const state =
    options.state === undefined
      ? undefined
      : parseEnum("orderState", options.state, "state");
  const holder =
    options.holder === undefined
      ? undefined
      : parseAddress(options.holder, "holder");
  const skipEmpty = options.skipEmpty === true;
  return {
    selected: parseIds(options),
    matches: (order: Order) =>
      (state === undefined || order.state === state) &&
      (holder === undefined || order.holder === holder) &&
      !(skipEmpty && isEmptyOrder(order)),
    chunkSize: parseCount(options.chunkSize, "chunkSize") ?? MAX_CHUNK,
    concurrency: parseCount(options.concurrency, "concurrency"),
  };
}

/** Ids to read: a list, or a range, which is open without a last id. */
interface Selected {
  readonly first: bigint;
  /** Infinity for an open range. */
  readonly total: number;
  /** The ids of some places in the list or range. */
  readonly take: (start: number, count: number) => readonly bigint[];
}

function parseIds({
  ids,
  firstId,
  lastId,
}: Pick<OrdersOptions, "ids" | "firstId" | "lastId">): Selected {
  if (ids !== undefined) {
    if (firstId !== undefined || lastId !== undefined) {
      const problem = "the option `ids` or a range can be given, not both";
      throw invalidArgument("ids", problem);
    }
    const list = ids.map((id, index) => parseUint256(id, `ids[${index}]`));
    const take: Selected["take"] = (start, count) =>
      list.slice(start, start + count);
    return { first: 0n, total: list.length, take };
  }
  const first = parseUint256(firstId ?? 0n, "firstId");
  const last =
    lastId === undefined ? MaxUint256 : parseUint256(lastId, "lastId");
  if (first > last) {
    throw invalidArgument(
      "firstId",
      `${first} is above the option \`lastId\`, which is ${last}`,
    );
  }
  if (lastId !== undefined && last - first >= MOST_IDS) {
    throw invalidArgument(
      "lastId",
      `${first} to ${last} are more than 2^40 ids`,
      "Give a smaller range of ids.",
    );
  }
  const length = Number(last - first + 1n);
  const take: Selected["take"] = (start, count) =>
    Array.from(
      { length: Math.min(count, length - start) },
      (_, index) => first + BigInt(start + index),
    );
  return { first, total: lastId === undefined ? Infinity : length, take };
}

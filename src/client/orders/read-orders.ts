import { MaxUint256 } from "ethers";

import { VaultError, invalidArgument } from "../../errors.js";
import { getBlock } from "../../rpc/blocks.js";
import { requireSameBranch } from "../../rpc/pinned-block.js";
import {
  parseAddress,
  parseCount,
  parseEnum,
  parseUint256,
  requireFixedBlock,
} from "../inputs.js";
import { checkOptions } from "../options.js";
import type { VaultReader } from "../reader.js";
import type { ScanProgress } from "../reader.js";
import { MOST_IDS, OpenRange } from "./open-range.js";
import { ALONE, OrderReader } from "./order-reader.js";
import type { Chunk, Found } from "./order-reader.js";
import { isEmptyOrder, isFailedOrder, ordersOptions } from "./types.js";
import type {
  FailedOrder,
  ListedOrder,
  Order,
  OrdersOptions,
} from "./types.js";

const MAX_CHUNK = 700;
/** More orders under way would be faster, but take more memory. */
const CONCURRENCY = 3;

/** @see VaultClient.orders */
export async function* readOrders(
  vault: VaultReader,
  options: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> {
  const stop = new AbortController();
  try {
    checkOptions("orders()", options, ordersOptions);
    const { selected, matches, chunkSize, concurrency } = parseOptions(options);
    const { ids, first, total } = selected;
    options.signal?.throwIfAborted();
    // Ends requests under way when the reader leaves.
    const stoppable = vault.withOptions({ signal: stop.signal });
    const context = await stoppable.openContext(options);
    const { rpc, block } = context;
    const target = await context.locate("trading", "orders");
    const pin = typeof block === "object" ? block : await getBlock(rpc, block);
    const isOpen = total === undefined;
    const reader = new OrderReader(
      { ...context, block: pin },
      target,
      isOpen,
      concurrency,
    );
    const chunks = chunksOf(
      reader,
      ids,
      chunkSize,
      concurrency,
      isOpen || rpc.node.runsLens !== true,
    );
    const parts = isOpen
      ? untilEnd(chunks, new OpenRange(reader, first))
      : withTotal(chunks, total);
    for await (const { orders, progress } of parts) {
      for (const order of orders) {
        if (order === undefined) {
          continue;
        }
        if (isFailedOrder(order) && options.strict === true) {
          throw errorNaming(order);
        }
        if (isFailedOrder(order) || matches(order)) {
          yield order;
          options.signal?.throwIfAborted();
        }
      }
      if (progress.done > 0) {
        // JavaScript also accepts an async one, whose rejection ends the list, too.
        await options.onProgress?.(progress);
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
  ids: Iterable<bigint>,
  chunkSize: number,
  concurrency: number | undefined,
  isCautious: boolean,
): AsyncGenerator<Chunk, void, undefined> {
  const left = ids[Symbol.iterator]();
  const underWay: Array<Promise<Chunk>> = [];
  let [size, most] = [chunkSize, chunkSize];
  let atOnce = isCautious ? 1 : (concurrency ?? CONCURRENCY);
  for (;;) {
    while (underWay.length < atOnce) {
      const next = take(left, size);
      if (next.length === 0) {
        break;
      }
      const chunk = reader.read(next);
      // A failure is thrown in its turn, or never if the reader has left.
      chunk.catch(() => undefined);
      underWay.push(chunk);
    }
    const chunk = await underWay.shift();
    if (chunk === undefined) {
      return;
    }
    most = Math.min(most, chunk.most ?? most);
    size = Math.min(most, chunk.allowed ?? 2 * size);
    const asMany = Math.ceil((CONCURRENCY * most) / size);
    atOnce = concurrency ?? Math.min(ALONE, asMany);
    yield chunk;
  }
}

function take(ids: Iterator<bigint>, count: number): readonly bigint[] {
  const taken: bigint[] = [];
  while (taken.length < count) {
    const next = ids.next();
    if (next.done === true) {
      break;
    }
    taken.push(next.value);
  }
  return taken;
}

interface Part {
  readonly orders: Iterable<Found>;
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

async function* untilEnd(
  chunks: AsyncIterable<Chunk>,
  range: OpenRange,
): AsyncGenerator<Part, void, undefined> {
  for await (const chunk of chunks) {
    const orders = await range.add(chunk.orders);
    const { length } = range;
    yield { orders, progress: { done: length, total: length } };
    if (range.error !== undefined) {
      throw range.error;
    }
    if (range.isOver) {
      return;
    }
  }
  // There are no higher ids.
  const orders = await range.takeFailed();
  yield { orders, progress: { done: 0, total: 0 } };
}

/** A range without a last id has no total. */
interface SelectedIds {
  readonly ids: Iterable<bigint>;
  readonly first: bigint;
  readonly total: number | undefined;
}

function* idsFrom(
  first: bigint,
  last: bigint,
): Generator<bigint, void, undefined> {
  for (let id = first; id <= last; id += 1n) {
    yield id;
  }
}

function parseOptions(options: OrdersOptions) {
  requireFixedBlock(options.blockTag, "blockTag");
  const selected = parseIds(options);
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
    selected,
    matches: (order: Order) =>
      (state === undefined || order.state === state) &&
      (holder === undefined || order.holder === holder) &&
      !(skipEmpty && isEmptyOrder(order)),
    chunkSize: parseCount(options.chunkSize, "chunkSize") ?? MAX_CHUNK,
    concurrency: parseCount(options.concurrency, "concurrency"),
  };
}

function parseIds({
  ids,
  firstId,
  lastId,
}: Pick<OrdersOptions, "ids" | "firstId" | "lastId">): SelectedIds {
  if (ids !== undefined) {
    if (firstId !== undefined || lastId !== undefined) {
      throw invalidArgument(
        "ids",
        "the option `ids` or a range can be given, not both",
      );
    }
    const list = ids.map((id, index) => parseUint256(id, `ids[${index}]`));
    return { ids: list, first: 0n, total: list.length };
  }
  const first = parseUint256(firstId ?? 0n, "firstId");
  if (lastId === undefined) {
    return { ids: idsFrom(first, MaxUint256), first, total: undefined };
  }
  const last = parseUint256(lastId, "lastId");
  if (first > last) {
    throw invalidArgument(
      "firstId",
      `${first} is above the option \`lastId\`, which is ${last}`,
    );
  }
  if (last - first >= MOST_IDS) {
    throw invalidArgument(
      "lastId",
      `${first} to ${last} are more than 2^40 ids`,
      "Give a smaller range of ids.",
    );
  }
  const total = Number(last - first + 1n);
  return { ids: idsFrom(first, last), first, total };
}

import { setImmediate } from "node:timers/promises";

import { pMapIterable } from "p-map";

import { invalidArgument } from "../../errors.js";
import {
  parseEnum,
  parseAddress,
  parseCount,
  parseUint256,
  requireFixedBlock,
} from "../inputs.js";
import { orAbort } from "../../rpc/deadline.js";
import { isLensSupported } from "../lens/lens.js";
import type { VaultReader } from "../reader.js";
import { findLastOrder } from "./last-order.js";
import type { LastOrderParts, OrdersEnd } from "./last-order.js";
import { OrderReader } from "./order-reader.js";
import type { OrdersPiece } from "./order-reader.js";
import { isEmptyOrder, isFailedOrder } from "./types.js";
import type { ListedOrder, Order, OrdersOptions } from "./types.js";

const MAX_CHUNK = 1_000;
/**
 * The node answers one while the other is decoded. Four would be a tenth faster,
 * and take twice the memory.
 */
const CONCURRENCY = 2;
const CONCURRENCY_OF_SINGLE_READS = 16;
/**
 * Ids that are not in a row share the gas of a call equally, and some nodes have
 * little of it.
 */
const MAX_SCATTERED = 100;

/** @see VaultClient.orders */
export async function* readOrders(
  whole: VaultReader,
  options: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> {
  const client = whole.withDeadline(options);
  const { ids, matches, maxChunk, concurrency } = parseOptions(options);
  const context = client.readContext(options);
  const { from } = context;
  const stop = new AbortController();
  const signal =
    options.signal === undefined
      ? stop.signal
      : AbortSignal.any([options.signal, stop.signal]);
  signal.throwIfAborted();
  let done = 0;
  try {
    const target = await orAbort(client.addressOf("trading", "orders"), signal);
    const [{ number: blockTag }, usesLens] = await orAbort(
      Promise.all([
        client.block(options.blockTag),
        // Where the caller is the trading contract, the lens would take its
        // place.
        from !== target.address && isLensSupported(context),
      ]),
      signal,
    );
    const pinned = { from, blockTag };
    const reader = new OrderReader(
      client,
      target,
      usesLens ? maxChunk : 1,
      usesLens,
      pinned,
      signal,
    );
    const read = (
      list: Iterable<bigint>,
    ): AsyncIterable<readonly OrdersPiece[]> =>
      pMapIterable(
        chunksOf(list, reader),
        async (chunk) => await orAbort(reader.read(chunk), signal),
        {
          concurrency:
            concurrency ??
            (usesLens ? CONCURRENCY : CONCURRENCY_OF_SINGLE_READS),
        },
      );
    const { chosen, total, isMissing } = await choose(ids, {
      read: (list) => ordersOf(read(list)),
      readAlone: async (id) => await client.read("getOrderInfo", [id], pinned),
    });
    for await (const pieces of read(chosen)) {
      // The next request leaves first, or the node would have nothing to do
      // while this chunk is decoded.
      await setImmediate();
      for (const { count, orders } of pieces) {
        for (const order of orders) {
          if (
            isMissing?.(order) !== true &&
            (isFailedOrder(order) || matches(order))
          ) {
            yield order;
            options.signal?.throwIfAborted();
          }
        }
        done += count;
        options.onProgress?.({ done, total });
      }
    }
  } finally {
    stop.abort();
  }
}

/** Which orders a scan is to list. */
type Ids =
  | { readonly list: readonly bigint[] }
  /** Without `last`, all there are from `first` on. */
  | { readonly first: bigint; readonly last?: bigint };

interface Chosen {
  readonly chosen: Iterable<bigint>;
  readonly total: number;
  /** Given where ids that do not exist are not to be listed. */
  readonly isMissing?: OrdersEnd["isMissing"] | undefined;
}

async function choose(ids: Ids, parts: LastOrderParts): Promise<Chosen> {
  if ("list" in ids) {
    return { chosen: ids.list, total: ids.list.length };
  }
  const { first } = ids;
  const { last = first - 1n, isMissing } =
    ids.last === undefined
      ? await findLastOrder(parts, first)
      : { last: ids.last, isMissing: undefined };
  return {
    chosen: idsFrom(first, last),
    total: Number(last - first + 1n),
    isMissing,
  };
}

function* idsFrom(
  first: bigint,
  last: bigint,
): Generator<bigint, void, undefined> {
  for (let id = first; id <= last; id += 1n) {
    yield id;
  }
}

/** Cuts ids into chunks, each as large as is right when it is asked for. */
function* chunksOf(
  ids: Iterable<bigint>,
  reader: Pick<OrderReader, "chunkSize">,
): Generator<readonly bigint[], void, undefined> {
  let chunk: bigint[] = [];
  let isRow = true;
  for (const id of ids) {
    const [first = id] = chunk;
    isRow &&= id === first + BigInt(chunk.length);
    const most = isRow
      ? reader.chunkSize
      : Math.min(reader.chunkSize, MAX_SCATTERED);
    if (chunk.length >= most) {
      yield chunk;
      chunk = [];
      isRow = true;
    }
    chunk.push(id);
  }
  if (chunk.length > 0) {
    yield chunk;
  }
}

async function* ordersOf(
  answers: AsyncIterable<readonly OrdersPiece[]>,
): AsyncGenerator<ListedOrder, void, undefined> {
  for await (const pieces of answers) {
    for (const { orders } of pieces) {
      yield* orders;
    }
  }
}

function parseOptions(options: OrdersOptions) {
  requireFixedBlock(options.blockTag, "blockTag");
  const ids = parseIds(options);
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
    ids,
    matches: (order: Order) =>
      (state === undefined || order.state === state) &&
      (holder === undefined || order.holder === holder) &&
      !(skipEmpty && isEmptyOrder(order)),
    maxChunk: parseCount(options.chunkSize, "chunkSize") ?? MAX_CHUNK,
    concurrency: parseCount(options.concurrency, "concurrency"),
  };
}

/**
 * Checks which orders are asked for.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER
 */
export function parseIds({
  ids,
  firstId,
  lastId,
}: Pick<OrdersOptions, "ids" | "firstId" | "lastId">): Ids {
  if (ids !== undefined) {
    if (firstId !== undefined || lastId !== undefined) {
      throw invalidArgument(
        "ids",
        "the option `ids` or a range can be given, not both",
      );
    }
    return {
      list: ids.map((id, index) => parseUint256(id, `ids[${index}]`)),
    };
  }
  const first = parseUint256(firstId ?? 0n, "firstId");
  if (lastId === undefined) {
    return { first };
  }
  const last = parseUint256(lastId, "lastId");
  if (first > last) {
    throw invalidArgument(
      "firstId",
      `${first} is above the option \`lastId\`, which is ${last}`,
    );
  }
  return { first, last };
}

import { setImmediate } from "node:timers/promises";

import { pMapIterable } from "p-map";

import { vaultError } from "../../errors.js";
import { OrderState, enumNames } from "../../protocol/index.js";
import {
  describeInput,
  givenInput,
  parseAddress,
  parseBlockTag,
  parseUint256,
  requireFixedBlock,
} from "../inputs.js";
import { isLensSupported } from "../lens/lens.js";
import type { ReadOptions, VaultReader } from "../reader.js";
import { ChunkSize } from "./chunk-size.js";
import { OrderReader } from "./order-reader.js";
import { isEmptyOrder, isFailedOrder } from "./types.js";
import type { IdRange, ListedOrder, Order, OrdersOptions } from "./types.js";

const INITIAL_CHUNK = 500;
const MAX_CHUNK = 1_000;
/**
 * The node answers one while the other is decoded. Four would be a tenth faster,
 * and take twice the memory.
 */
const CONCURRENCY = 2;
const CONCURRENCY_OF_SINGLE_READS = 16;

/** @see VaultClient.orders */
export async function* readOrders(
  whole: VaultReader,
  options: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> {
  const client = whole.during(options);
  const { first, last, matches, maxChunk, concurrency } = parseOptions(options);
  const { from } = client.readContext(options);
  const stop = new AbortController();
  const signal =
    options.signal === undefined
      ? stop.signal
      : AbortSignal.any([options.signal, stop.signal]);
  signal.throwIfAborted();
  const total = Number(last - first + 1n);
  let done = 0;
  try {
    const target = await orAbort(client.addressOf("trading", "orders"), signal);
    const caller = {
      provider: client.provider,
      network: client.networkName,
      from,
    };
    const [blockTag, usesLens] = await orAbort(
      Promise.all([
        pinBlock(client, options),
        // Where the caller is the trading contract, the lens would take its
        // place.
        from !== target.address && isLensSupported(caller),
      ]),
      signal,
    );
    const lens = { ...caller, blockTag: parseBlockTag(blockTag) };
    const chunkSize = usesLens
      ? new ChunkSize(INITIAL_CHUNK, maxChunk)
      : new ChunkSize(1, 1);
    const reader = new OrderReader({
      client,
      target,
      lens: usesLens ? lens : undefined,
      pinned: { from, blockTag },
      chunkSize,
      signal,
    });
    const chunks = pMapIterable(
      ranges(first, last, chunkSize),
      async (range) => await orAbort(reader.read(range), signal),
      {
        concurrency:
          concurrency ?? (usesLens ? CONCURRENCY : CONCURRENCY_OF_SINGLE_READS),
      },
    );
    for await (const pieces of chunks) {
      // The next request leaves first, or the node would have nothing to do
      // while this chunk is decoded.
      await setImmediate();
      for (const { count, orders } of pieces) {
        for (const order of orders) {
          if (isFailedOrder(order) || matches(order)) {
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

/** Cuts a range into chunks, each as large as is right when it is asked for. */
function* ranges(
  first: bigint,
  last: bigint,
  chunkSize: ChunkSize,
): Generator<IdRange, void, undefined> {
  let next = first;
  while (next <= last) {
    const end = next + BigInt(chunkSize.current) - 1n;
    const range = { first: next, last: end < last ? end : last };
    yield range;
    next = range.last + 1n;
  }
}

async function pinBlock(
  client: VaultReader,
  { blockTag = "latest" }: ReadOptions,
): Promise<number> {
  return (await client.block(blockTag)).number;
}

/** Waits for the work or for the signal, whichever is first. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let giveUp: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    giveUp = () => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's own and is passed on as it is
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp);
    if (signal.aborted) {
      giveUp();
    }
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (giveUp !== undefined) {
      signal.removeEventListener("abort", giveUp);
    }
  }
}

function parseOptions(options: OrdersOptions): {
  first: bigint;
  last: bigint;
  matches: (order: Order) => boolean;
  maxChunk: number;
  concurrency: number | undefined;
} {
  requireFixedBlock(options.blockTag, "blockTag");
  const first = parseUint256(options.firstId, "firstId");
  const last = parseUint256(options.lastId, "lastId");
  if (first > last) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "firstId",
      problem: `${first} is above lastId, which is ${last}`,
    });
  }
  const state =
    options.state === undefined ? undefined : parseOrderState(options.state);
  const holder =
    options.holder === undefined
      ? undefined
      : parseAddress(options.holder, "holder");
  const skipEmpty = options.skipEmpty === true;
  return {
    first,
    last,
    matches: (order) =>
      (state === undefined || order.state === state) &&
      (holder === undefined || order.holder === holder) &&
      !(skipEmpty && isEmptyOrder(order)),
    maxChunk: parseCount(options.chunkSize, "chunkSize") ?? MAX_CHUNK,
    concurrency: parseCount(options.concurrency, "concurrency"),
  };
}

/**
 * Checks an order state: its number or its name.
 *
 * @throws VaultError VAULT_INVALID_ENUM
 */
function parseOrderState(value: unknown): OrderState {
  for (const state of Object.values(OrderState)) {
    if (value === state || value === enumNames.orderState[state]) {
      return state;
    }
  }
  throw vaultError("VAULT_INVALID_ENUM", {
    where: "state",
    allowed: Object.entries(enumNames.orderState)
      .map(([number, name]) => `${name} (${number})`)
      .join(", "),
    value: givenInput(value),
  });
}

function parseCount(
  value: number | undefined,
  where: string,
): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value > 0)) {
    return value;
  }
  throw vaultError("VAULT_INVALID_ARGUMENT", {
    where,
    problem: `a whole number from 1 is needed, got ${describeInput(value)}`,
  });
}

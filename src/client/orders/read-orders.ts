import { setImmediate } from "node:timers/promises";

import { addFrames } from "../../caller-stack.js";
import { VaultError, invalidArgument } from "../../errors.js";
import { getBlock } from "../../rpc/blocks.js";
import {
  parseAddress,
  parseCount,
  parseEnum,
  parseUint256,
  requireFixedBlock,
  withAddress,
} from "../inputs.js";
import { isLensKnown, tryLens } from "../lens/lens.js";
import { checkOptions } from "../options.js";
import type { VaultReader } from "../reader.js";
import { LIMIT_POWER, findLastOrder } from "./last-order.js";
import { ALONE, OrderReader } from "./order-reader.js";
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
/**
 * The process does other work before each chunk and after each 100 orders of it: it sends
 * requests and receives answers. The text of an answer lives until then. If that is soon,
 * few texts are alive when V8 collects, and its young generation stays small.
 */
const ORDERS_A_TURN = 100;

/**
 * @param frames Of the caller, for the stack of an error. A generator around this one would
 * add them, too, but takes time and memory for each order.
 * @see VaultClient.orders
 */
export async function* readOrders(
  vault: VaultReader,
  options: OrdersOptions,
  frames: readonly string[],
): AsyncGenerator<ListedOrder, void, undefined> {
  const stop = new AbortController();
  try {
    checkOptions("orders()", options, ordersOptions);
    const { selected, matches, maxChunk, concurrency } = parseOptions(options);
    options.signal?.throwIfAborted();
    const client = vault
      .withOptions(await withAddress(options))
      // Ends requests under way when the reader leaves.
      .withOptions({ signal: stop.signal });
    const context = client.readContext({ blockTag: options.blockTag });
    const target = await client.addressOf("trading", "orders");
    // At the caller's address, the lens would replace the trading contract.
    const isSelf = context.from === target.address;
    const pin =
      typeof context.block === "object"
        ? context.block
        : await getBlock(context.rpc, context.block);
    const pinned = client.pinnedTo(pin);
    if (!isSelf && !isLensKnown(client.rpc)) {
      await tryLens({ ...context, block: pin }, []);
    }
    const usesLens = !isSelf && isLensKnown(client.rpc);
    const limits = {
      chunkSize: usesLens ? maxChunk : 1,
      concurrency: concurrency ?? (usesLens ? CONCURRENCY : ALONE),
      isFlexible: concurrency === undefined,
    };
    const createReader = (): OrderReader =>
      new OrderReader(pinned, target, pin, limits);
    let done = 0;
    let proof: Promise<void> | undefined;
    /** Beside the last chunks. Their orders are of this block if they are read by hash. */
    const prove = (): void => {
      proof = pinned.requirePin();
      proof.catch(() => undefined);
    };
    for await (const { orders, total, isUnknown } of chunksOf(
      createReader,
      selected,
      prove,
    )) {
      let read = 0;
      for (const order of orders) {
        if (read % ORDERS_A_TURN === 0) {
          await setImmediate();
          options.signal?.throwIfAborted();
        }
        read += 1;
        const unknown = isUnknown(order);
        // Not for each order: to await makes a promise.
        if (unknown === true || (unknown !== false && (await unknown))) {
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
      done += read;
      options.onProgress?.({ done, total: total() });
    }
    await (client.rpc.node.takesHashes === true && proof !== undefined
      ? proof
      : pinned.requirePin());
  } catch (error) {
    throw addFrames(error, frames);
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

interface OrderChunk {
  readonly orders: Iterable<ListedOrder>;
  /** Number of ids to read, as far as it is known. */
  readonly total: () => number;
  /** True for the answer of an unknown id in an open range. */
  readonly isUnknown: (order: ListedOrder) => boolean | Promise<boolean>;
}

/** Reads an open range while its end is searched. */
async function* chunksOf(
  createReader: () => OrderReader,
  selected: SelectedIds,
  onLast: () => void,
): AsyncGenerator<OrderChunk, void, undefined> {
  const reader = createReader();
  if ("ids" in selected) {
    const { ids, total } = selected;
    for await (const orders of reader.read(ids, "end", onLast)) {
      yield { orders, total: () => total, isUnknown: () => false };
    }
    return;
  }
  let next = selected.first;
  let last = next - 1n;
  let begin = (): void => undefined;
  const isBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const search = findLastOrder(
    // Of unknown ids, the gas of a request allows fewer than of orders.
    createReader(),
    next,
    {
      onLast,
      onFound: (found) => {
        last = found;
        begin();
      },
    },
  );
  /** The ids up to the last order that is found by then. */
  function* nextIds(): Generator<bigint, void, undefined> {
    for (; next <= last; next += 1n) {
      yield next;
    }
  }
  const common = {
    total: () => Number(last - selected.first + 1n),
    // The reverts of unknown ids are known at the end of the search.
    isUnknown: (order: ListedOrder) =>
      isFailedOrder(order)
        ? search.then(({ isMissing }) => isMissing(order))
        : isEmptyOrder(order),
  };
  // A failure is thrown below, or never if the reader has left.
  search.catch(() => undefined);
  await Promise.race([isBegun, search]);
  for await (const orders of reader.read(nextIds(), "each", onLast)) {
    yield { orders, ...common };
  }
  ({ last = last } = await search);
  for await (const orders of reader.read(nextIds(), "each", onLast)) {
    yield { orders, ...common };
  }
}

/** The ids, or the first id of an open range. */
type SelectedIds =
  | { readonly ids: Iterable<bigint>; readonly total: number }
  | { readonly first: bigint };

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
    maxChunk: parseCount(options.chunkSize, "chunkSize") ?? MAX_CHUNK,
    concurrency: parseCount(options.concurrency, "concurrency"),
  };
}

export function parseIds({
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
    return { ids: list, total: list.length };
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
  if (last - first >= 2n ** BigInt(LIMIT_POWER)) {
    throw invalidArgument(
      "lastId",
      `${first} to ${last} are more than 2^${LIMIT_POWER} ids`,
      "Give a smaller range of ids.",
    );
  }
  return { ids: idsFrom(first, last), total: Number(last - first + 1n) };
}

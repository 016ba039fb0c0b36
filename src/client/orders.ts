import { MaxUint256 } from "ethers";

import { VaultError, invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import type { OrderState, OrderStateName } from "../protocol/index.js";
import { getBlock, readOnBranch } from "../rpc/blocks.js";
import {
  parseAddress,
  parseCount,
  parseEnum,
  parseUint256,
  requireFixedBlock,
  checkOptions,
  option,
} from "./inputs.js";
import type { OneOf, OptionsOf } from "./inputs.js";
import {
  FAILED_IDS_AT_END,
  OrderReader,
  USED_UP,
  isEmptyOrder,
  isFailedOrder,
} from "./order-reader.js";
import type {
  FailedOrder,
  ListedOrder,
  Order,
  Orders,
  Part,
} from "./order-reader.js";
import { scanOptions } from "./read-at-block.js";
import type { Readable } from "./read-at-block.js";

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
   * Requests at the same time. Default: 3, and 16 if each order is a request, because the
   * node refuses state overrides.
   */
  concurrency: option<number>(),
};

/** Options of {@link VaultClient.orders}: a range of ids, or a list of them. */
export type OrdersOptions = OptionsOf<typeof filterOptions> &
  OneOf<typeof rangeOptions, typeof idOptions>;

const ordersOptions = { ...filterOptions, ...rangeOptions, ...idOptions };

/** So far behind its first id, an open range has no order. Its contract may count in 32 bits. */
const FAR_BEHIND = 2n ** 31n;
const MAX_CHUNK = 800;
/** Requests under way: more would be faster, but take more memory. */
const CONCURRENCY = 3;
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
    const matches = parseFilter(options);
    const ids = parseIds(options);
    parseCount(options.chunkSize, "chunkSize");
    const concurrency = parseCount(options.concurrency, "concurrency");
    signal?.throwIfAborted();
    const context = await vault.openContext(options);
    // Ends requests under way when the reader leaves.
    const rpc = context.rpc.withOptions({ signal: stop.signal });
    const target = await context.locate("trading", "orders");
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
    const parts = partsOf(reader, ids, options, isCautious);
    const end = ids.isOpen ? new EndOfList(reader, ids.first) : undefined;
    let done = 0;
    for await (const found of parts) {
      for (const order of (await end?.leaveOut(found)) ?? found) {
        if (isFailedOrder(order) && strict === true) {
          throw errorNaming(order);
        }
        if (isFailedOrder(order) || matches(order)) {
          yield order;
          signal?.throwIfAborted();
        }
      }
      done = end?.length ?? done + found.length;
      if (done > 0) {
        // JavaScript also accepts an async one, whose rejection ends the list, too.
        await onProgress?.({ done, total: ids.isOpen ? done : ids.total });
      }
      if (end?.error !== undefined) {
        throw end.error;
      }
      if (end?.isReached === true) {
        break;
      }
    }
    await readOnBranch(rpc, pin, async () => await Promise.resolve());
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
 * Reads ids in their order, with several requests under way. What is requested depends
 * only on what was handed out, not on when others are answered.
 *
 * @param isCautious True if one request comes before the others.
 */
async function* partsOf(
  reader: OrderReader,
  ids: Ids,
  { chunkSize = MAX_CHUNK, concurrency = CONCURRENCY }: OrdersOptions,
  isCautious: boolean,
): AsyncGenerator<Orders, void, undefined> {
  let size = chunkSize;
  let atOnce = isCautious ? 1 : concurrency;
  let requested = 0;
  const underWay: Array<{ asked: readonly bigint[]; answer: Promise<Part> }> =
    [];
  const request = (asked: readonly bigint[]) => {
    const answer = reader.read(asked.slice(0, size));
    // A failure is thrown in its turn, or never if the reader has left.
    answer.catch(() => undefined);
    return { asked, answer };
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
    const { orders, usedUp, most } = await next.answer;
    yield orders;
    if (usedUp.length > 0) {
      yield await reader.readUsedUp(usedUp);
    }
    size = Math.min(size, most);
    atOnce = concurrency;
    const rest = next.asked.slice(orders.length + usedUp.length);
    if (rest.length > 0) {
      underWay.unshift(request(rest));
    }
  }
}

/** Leaves out the unknown ids of a list without a last id, and finds its end. */
class EndOfList {
  public isReached = false;
  /** Why the end is not known. */
  public error: VaultError | undefined;
  /** Ids up to the last order. */
  public length = 0;
  #read = 0;
  #unknown = 0;
  #isAnswered = false;
  #firstError: VaultError | undefined;
  /** Perhaps orders, if the list goes on: one behind a proxy may need more gas. */
  readonly #silent: FailedOrder[] = [];
  #far: Promise<ListedOrder> | undefined;

  constructor(
    private readonly reader: OrderReader,
    private readonly first: bigint,
  ) {}

  /** @returns The orders, and ids that failed otherwise than unknown ones do. */
  public async leaveOut(found: Iterable<ListedOrder>): Promise<ListedOrder[]> {
    const orders: ListedOrder[] = [];
    for (const order of found) {
      this.#read += 1;
      if (!isFailedOrder(order)) {
        this.#isAnswered = true;
        this.#unknown = 0;
        orders.push(...this.#silent.splice(0));
        if (!isEmptyOrder(order)) {
          orders.push(order);
          this.length = this.#read;
        }
      } else if (await this.#isUnknown(order)) {
        this.#unknown += 1;
        if (kindOf(order.error) === "none") {
          this.#silent.push(order);
        }
      } else {
        this.#unknown = 0;
        orders.push(...this.#silent.splice(0), order);
      }
      this.isReached =
        this.#unknown === FAILED_IDS_AT_END ||
        this.#read - this.length === UNKNOWN_IDS_AT_END;
      if (this.isReached && !this.#isAnswered) {
        // A contract that refuses to be read may have orders.
        this.error ??= this.#firstError;
      }
      if (this.isReached || this.error !== undefined) {
        break;
      }
    }
    return orders;
  }

  /** True if an id fails as one far behind the end does, which is no order. */
  async #isUnknown({ error }: FailedOrder): Promise<boolean> {
    if (error.details["reason"] === USED_UP) {
      return true;
    }
    // An empty array has an invalid opcode for each id.
    if (kindOf(error) !== "invalid-opcode") {
      this.#firstError ??= error;
    }
    const farId = this.first + FAR_BEHIND;
    this.#far ??= this.reader.readAlone(
      farId < MaxUint256 ? farId : MaxUint256,
    );
    const far = await this.#far;
    if (isFailedOrder(far) && far.error.kind === "rpc") {
      this.error = far.error;
    }
    return isFailedOrder(far) && reasonOf(error) === reasonOf(far.error);
  }
}

/** The kind of the revert, if there was one. */
function kindOf({ cause }: VaultError): unknown {
  return asRecord(cause)["kind"];
}

function parseFilter(options: OrdersOptions): (order: Order) => boolean {
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
  return (order) =>
    (state === undefined || order.state === state) &&
    (holder === undefined || order.holder === holder) &&
    !(skipEmpty && isEmptyOrder(order));
}

/** Ids to read: a list, or a range, which is open without a last id. */
interface Ids {
  readonly first: bigint;
  readonly isOpen: boolean;
  readonly total: number;
  /** The ids of some places in the list or range. */
  readonly take: (start: number, count: number) => readonly bigint[];
}

function parseIds({
  ids,
  firstId,
  lastId,
}: Pick<OrdersOptions, "ids" | "firstId" | "lastId">): Ids {
  if (ids !== undefined) {
    if (firstId !== undefined || lastId !== undefined) {
      const problem = "the option `ids` or a range can be given, not both";
      throw invalidArgument("ids", problem);
    }
    const list = ids.map((id, index) => parseUint256(id, `ids[${index}]`));
    const take: Ids["take"] = (start, count) =>
      list.slice(start, start + count);
    return { first: 0n, isOpen: false, total: list.length, take };
  }
  const first = parseUint256(firstId ?? 0n, "firstId");
  const last = parseUint256(lastId ?? MaxUint256, "lastId");
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
  return { first, isOpen: lastId === undefined, total, take };
}

/** Why an order failed, without figures, which name the id. */
function reasonOf({ code, cause, details, shortMessage }: VaultError): string {
  const selector = String(asRecord(cause)["data"]).slice(0, 10);
  const words = String(details["reason"] ?? shortMessage);
  return `${code} ${selector} ${words.replaceAll(/0x[0-9a-f]+|\d+/giu, "#")}`;
}

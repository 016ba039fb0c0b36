import { ZeroAddress } from "ethers";

import { option } from "../options.js";
import type { OneOf, OptionsOf } from "../options.js";
import type {
  VaultOrder,
  OrderState,
  OrderStateName,
} from "../../protocol/index.js";
import type { FailedReading } from "../failed-reading.js";
import { scanOptions } from "../reader.js";

/** Ids in a row that end a list without a last id: that fail, and that are no orders. */
export const FAILED_IDS_AT_END = 16;
export const UNKNOWN_IDS_AT_END = 500;

/** An order and its id. Values are unscaled. */
export type Order = { readonly orderID: bigint } & VaultOrder;

/** An order that could not be read. */
export interface FailedOrder extends FailedReading {
  readonly orderID: bigint;
}

export type ListedOrder = Order | FailedOrder;

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
  /** Most orders in one request. Default: 700. */
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

export const ordersOptions = {
  ...filterOptions,
  ...rangeOptions,
  ...idOptions,
};

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

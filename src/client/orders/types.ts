import { ZeroAddress } from "ethers";

import type {
  VaultOrder,
  OrderState,
  OrderStateName,
} from "../../protocol/index.js";
import type { FailedReading } from "../failed-reading.js";
import type { OptionNames } from "../option-names.js";
import { scanOptionNames } from "../scan-options.js";
import type { ScanOptions } from "../scan-options.js";

/** An order and its id. Values are unscaled. */
export type Order = { readonly orderID: bigint } & VaultOrder;

/** An order that could not be read. */
export interface FailedOrder extends FailedReading {
  readonly orderID: bigint;
}

export type ListedOrder = Order | FailedOrder;

/** Options of {@link VaultClient.orders}: a range of ids, or a list of them. */
export type OrdersOptions = OrderFilters & (OrderRange | OrderIds);

interface OrderRange {
  /** First id of the range. Default: 0. */
  readonly firstId?: bigint | number | undefined;
  /** Last id of the range, included. Default: see {@link VaultClient.orders}. */
  readonly lastId?: bigint | number | undefined;
  readonly ids?: undefined;
}

interface OrderIds {
  /** Ids in place of a range; their order is kept. */
  readonly ids?: ReadonlyArray<bigint | number> | undefined;
  readonly firstId?: undefined;
  readonly lastId?: undefined;
}

interface OrderFilters extends ScanOptions {
  /**
   * Milliseconds until the last order, retries and the caller's own work included.
   * Default: no limit, and 300,000 for each request. After it, the iteration throws
   * VAULT_RPC_TIMEOUT. The orders before that are right, but there may be more.
   */
  readonly timeout?: number | undefined;
  /** Only orders in this state; failed ones are listed in any case. */
  readonly state?: OrderState | OrderStateName | undefined;
  /** Only orders of this holder; failed ones are listed in any case. */
  readonly holder?: string | undefined;
  /** Leaves out orders with every value zero. Default: false. */
  readonly skipEmpty?: boolean | undefined;
  /** Most orders in one request. Default: 700. */
  readonly chunkSize?: number | undefined;
  /**
   * Requests at the same time. Default: 3, up to 16 if the gas of a request suffices for
   * fewer orders, and 16 if the node refuses state overrides and each order is a request.
   * The search for the last order may make as many more.
   */
  readonly concurrency?: number | undefined;
}

export const ordersOptionNames: OptionNames<OrdersOptions> = {
  ...scanOptionNames,
  firstId: true,
  lastId: true,
  ids: true,
  state: true,
  holder: true,
  skipEmpty: true,
  chunkSize: true,
  concurrency: true,
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
    Object.entries(order).every(
      ([name, value]) => name === "orderID" || zeros.includes(value),
    )
  );
}

const zeros: readonly unknown[] = [0n, 0, "", ZeroAddress];

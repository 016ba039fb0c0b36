import type {
  VaultOrder,
  OrderState,
  OrderStateName,
} from "../../protocol/index.js";
import type { FailedReading } from "../failed-reading.js";
import type { ScanOptions } from "../reader.js";

/** An order and its id. Values are unscaled, as on the wire. */
export type Order = { readonly orderID: bigint } & VaultOrder;

/** An order that could not be read. */
export interface FailedOrder extends FailedReading {
  readonly orderID: bigint;
}

export type ListedOrder = Order | FailedOrder;

/** Options of {@link VaultClient.orders}. */
export interface OrdersOptions extends ScanOptions {
  /**
   * Milliseconds until the last order has to be there, with whatever is asked
   * again and the time that the caller takes between two; no limit unless given,
   * and 300,000 for each request. When it is over, the iteration throws
   * VAULT_RPC_TIMEOUT: the orders that came before are right, and there may be
   * more.
   */
  readonly timeout?: number | undefined;
  /** First id of the range; 0 unless given. */
  readonly firstId?: bigint | number | undefined;
  /**
   * Last id of the range, included. Unless given, that of the last order: see
   * {@link VaultClient.orders}.
   */
  readonly lastId?: bigint | number | undefined;
  /** These orders, as they are named here, in the place of a range. */
  readonly ids?: ReadonlyArray<bigint | number> | undefined;
  /** Only orders in this state; failed ones are listed in any case. */
  readonly state?: OrderState | OrderStateName | undefined;
  /** Only orders of this holder; failed ones are listed in any case. */
  readonly holder?: string | undefined;
  /** Leave out orders whose every value is zero; false unless given. */
  readonly skipEmpty?: boolean | undefined;
  /** Most orders in one request; 1,000 unless given. */
  readonly chunkSize?: number | undefined;
  /**
   * Requests under way at a time; 2 unless given, or 16 where the node refuses
   * state overrides and each order is a request.
   */
  readonly concurrency?: number | undefined;
}

/**
 * True if an entry of a scan says why its order could not be read.
 *
 * @example
 * ```ts
 * const failed: bigint[] = [];
 * for await (const order of vault.orders({ ids: [1n, 2n] })) {
 *   if (isFailedOrder(order)) failed.push(order.orderID);
 * }
 * failed;
 * // []
 * ```
 */
export function isFailedOrder(order: ListedOrder): order is FailedOrder {
  return "error" in order;
}

/**
 * True if every value is zero: how a contract may answer an unknown id.
 *
 * @example
 * ```ts
 * const empty: bigint[] = [];
 * for await (const order of vault.orders({ ids: [1n, 9n] })) {
 *   if (isEmptyOrder(order)) empty.push(order.orderID);
 * }
 * empty;
 * // [ 9n ]
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

const zeros: readonly unknown[] = [
  0n,
  0,
  "",
  "0x0000000000000000000000000000000000000000",
];

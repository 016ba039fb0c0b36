const orderIDs = new WeakMap<object, bigint>();

/**
 * Keeps the id of an order that was read by itself, which is none of its
 * values, so that a failed assertion can name the order.
 */
export function rememberOrderID(order: object, orderID: bigint): void {
  orderIDs.set(order, orderID);
}

/** @returns Undefined for an order that was not read by a client. */
export function orderIDOf(order: object): bigint | undefined {
  const own: unknown = Reflect.get(order, "orderID");
  return typeof own === "bigint" ? own : orderIDs.get(order);
}

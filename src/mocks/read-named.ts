import { isEmptyOrder } from "../client/orders/types.js";
import { otherwise } from "../errors.js";
import { operationEntry, placeReading, readingAt } from "../protocol/index.js";
import type { OperationName } from "../protocol/index.js";
import { scenarios } from "./scenarios.js";
import { answers, parseOrderKey } from "./state.js";
import type { MockHost, MockOrder, MockOverrides, MockState } from "./types.js";

/**
 * The state that changes are made to: what they name in part is read, and what
 * they do not name may be anything. Margins and the settlement have nothing
 * that could be read back: a mock answers them by what it is asked, or later.
 */
export async function readNamed(
  vault: MockHost,
  changes: MockOverrides,
): Promise<MockState> {
  const places: Record<string, unknown> = {
    ...scenarios["open-round"](0n),
    margins: {},
    settlement: {},
    orders: await readOrders(vault, changes.orders ?? {}),
  };
  for (const { operation, args, path } of answers) {
    if (
      operation !== "calMargins" &&
      leavesSome(operation, readingAt(changes, path))
    ) {
      placeReading(
        places,
        path,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the arguments of a reading are what its operation takes
        await vault.read(operation, args as never),
      );
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a scenario, of which margins and settlement are checked to be named whole
  return places as unknown as MockState;
}

async function readOrders(
  vault: MockHost,
  changes: object,
): Promise<MockState["orders"]> {
  const orders = new Map<bigint, MockOrder>();
  await Promise.all(
    Object.entries({ ...changes }).map(async ([key, change]) => {
      if (leavesSome("getOrderInfo", change)) {
        const orderID = parseOrderKey(key, `orders[${key}]`);
        const order = await findOrder(vault, orderID);
        if (order !== undefined) {
          orders.set(orderID, order);
        }
      }
    }),
  );
  return orders;
}

/** Whether changes to an answer name some of its fields, and others not. */
function leavesSome(operation: OperationName, changes: unknown): boolean {
  const { outputs } = operationEntry(operation);
  return (
    typeof changes === "object" &&
    changes !== null &&
    outputs.some(({ name }) => Reflect.get(changes, name) === undefined)
  );
}

/** @returns Undefined where there is no such order, whatever that answers. */
async function findOrder(
  vault: MockHost,
  orderID: bigint,
): Promise<MockOrder | undefined> {
  const order = await vault
    .getOrderInfo(orderID)
    .catch(
      otherwise(
        undefined,
        ({ code, details }) =>
          code === "VAULT_CALL_REVERTED" &&
          /^(?:OrderNotFound\(|order \d+ was not captured)/u.test(
            String(details["reason"]),
          ),
      ),
    );
  return order === undefined || isEmptyOrder({ orderID, ...order })
    ? undefined
    : order;
}

import { isEmptyOrder } from "../client/orders/types.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { operationEntry, set, get } from "../protocol/index.js";
import type { OperationName } from "../protocol/index.js";
import { scenarios } from "./scenarios.js";
import { answers, parseOrderKey } from "./state.js";
import type {
  MockHost,
  CheckedOrder,
  MockOverrides,
  MockState,
} from "./types.js";

/**
 * The state that changes are made to: what they name in part is read, and what
 * they do not name may be anything. A settlement cannot be read before it
 * happens.
 */
export async function readNamed(
  vault: MockHost,
  changes: MockOverrides,
): Promise<MockState> {
  const places: Record<string, unknown> = {
    ...scenarios["open-round"](0n),
    settlement: {},
    orders: await readOrders(vault, asRecord(get(changes, ["orders"]))),
  };
  for (const { operation, args, path } of answers) {
    if (leavesSome(operation, get(changes, path))) {
      set(
        places,
        path,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the arguments of a reading are what its operation takes
        await vault.read(operation, args as never),
      );
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a scenario, of which the settlement is checked to be named whole
  return places as unknown as MockState;
}

async function readOrders(
  vault: MockHost,
  changes: object,
): Promise<MockState["orders"]> {
  const orders = new Map<bigint, CheckedOrder>();
  await Promise.all(
    Object.entries(changes).map(async ([key, change]) => {
      if (leavesSome("getOrderInfo", change)) {
        const orderID = parseOrderKey(key);
        const order = await vault
          .getOrderInfo(orderID)
          .catch(fallbackTo(undefined, isOrderNotFound));
        if (order !== undefined && !isEmptyOrder({ orderID, ...order })) {
          orders.set(orderID, order);
        }
      }
    }),
  );
  return orders;
}

function isOrderNotFound({ code, details }: VaultError): boolean {
  return (
    code === "VAULT_CALL_REVERTED" &&
    String(details["reason"]).startsWith("OrderNotFound(")
  );
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

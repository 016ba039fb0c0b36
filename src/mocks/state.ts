import { describeInput, parseUint256 } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { checkFailures } from "./check-failure.js";
import {
  checkAllValues,
  checkValues,
  requireBoolean,
  requireObject,
} from "./check-values.js";
import { generatedOrder } from "./generated-order.js";
import { settlementFields } from "./types.js";
import type { MockOrder, MockOverrides, MockState } from "./types.js";

/**
 * A scenario with some of its values changed.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if there is no such value, or an
 * order that the scenario does not have is named in part;
 * VAULT_INVALID_INTEGER, VAULT_INVALID_ADDRESS, VAULT_INVALID_ENUM
 */
export function applyOverrides(
  state: MockState,
  overrides: MockOverrides,
): MockState {
  requireKnownKeys(overrides, state, "overrides");
  requireKnownKeys(overrides.pools ?? {}, state.pools, "overrides.pools");
  requireKnownKeys(
    overrides.fundingFeeRate ?? {},
    state.fundingFeeRate,
    "overrides.fundingFeeRate",
  );
  const generatedOrders =
    overrides.generatedOrders === undefined
      ? state.generatedOrders
      : checkRange(overrides.generatedOrders);
  const { call, put } = {
    ...state.fundingFeeRate,
    ...overrides.fundingFeeRate,
  };
  return {
    fundingFeeRate: {
      call: parseUint256(call, "overrides.fundingFeeRate.call"),
      put: parseUint256(put, "overrides.fundingFeeRate.put"),
    },
    pools: {
      public: {
        ...state.pools.public,
        ...checkValues(
          "getLPAmountInfo",
          overrides.pools?.public ?? {},
          "overrides.pools.public",
        ),
      },
      private: {
        ...state.pools.private,
        ...checkValues(
          "getLPAmountInfo",
          overrides.pools?.private ?? {},
          "overrides.pools.private",
        ),
      },
    },
    round: {
      ...state.round,
      ...checkValues(
        "getLatestRoundInfo",
        overrides.round ?? {},
        "overrides.round",
      ),
    },
    orders: applyOrders({ ...state, generatedOrders }, overrides.orders),
    generatedOrders,
    missingOrdersRevert: requireBoolean(
      overrides.missingOrdersRevert ?? state.missingOrdersRevert,
      "overrides.missingOrdersRevert",
    ),
    margins: {
      ...state.margins,
      ...checkValues(
        "calMargins",
        overrides.margins ?? {},
        "overrides.margins",
      ),
    },
    marginBalance: {
      ...state.marginBalance,
      ...checkValues(
        "queryMarginBalance",
        overrides.marginBalance ?? {},
        "overrides.marginBalance",
      ),
    },
    volume: parseUint256(overrides.volume ?? state.volume, "overrides.volume"),
    minXMargin: parseUint256(
      overrides.minXMargin ?? state.minXMargin,
      "overrides.minXMargin",
    ),
    settlement: {
      ...state.settlement,
      ...checkValues(
        "getLatestRoundInfo",
        overrides.settlement ?? {},
        "overrides.settlement",
        settlementFields,
      ),
    },
    failures: checkFailures(
      overrides.failures ?? state.failures,
      "overrides.failures",
    ),
  };
}

function checkRange(
  range: MockState["generatedOrders"],
): MockState["generatedOrders"] {
  const where = "overrides.generatedOrders";
  if (range === null) {
    return null;
  }
  const { firstId, lastId } = requireObject(range, where, "an object or null");
  return {
    firstId: parseUint256(firstId, `${where}.firstId`),
    lastId: parseUint256(lastId, `${where}.lastId`),
  };
}

function applyOrders(
  state: MockState,
  overrides: MockOverrides["orders"] = {},
): MockState["orders"] {
  const orders = new Map(state.orders);
  requireObject(overrides, "overrides.orders");
  for (const [key, changes] of Object.entries(overrides)) {
    const where = `overrides.orders[${describeInput(key)}]`;
    const orderID = parseUint256(
      /^[0-9]+$/u.test(key) ? BigInt(key) : key,
      where,
    );
    if (changes === null) {
      orders.set(orderID, null);
    } else if (changes !== undefined) {
      orders.set(
        orderID,
        checkAllValues<MockOrder>(
          "getOrderInfo",
          { ...existingOrder(state, orderID), ...changes },
          where,
        ),
      );
    }
  }
  return orders;
}

function existingOrder(
  { orders, generatedOrders: range }: MockState,
  orderID: bigint,
): Partial<MockOrder> {
  const isGenerated =
    range !== null && orderID >= range.firstId && orderID <= range.lastId;
  return (
    orders.get(orderID) ??
    (isGenerated ? generatedOrder(orderID) : undefined) ??
    {}
  );
}

/** A misspelt key must not be an override that does nothing. */
function requireKnownKeys(changes: object, known: object, where: string): void {
  for (const key of Object.keys(requireObject(changes, where))) {
    if (!Object.hasOwn(known, key)) {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where,
        problem: `there is no ${describeInput(key)} to change; there are ${Object.keys(known).join(", ")}`,
      });
    }
  }
}

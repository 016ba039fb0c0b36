import { vaultError } from "../errors.js";
import { operations } from "../protocol/index.js";
import type { MockOrder, MockOverrides, MockState } from "./types.js";

/**
 * A scenario with some of its values changed.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if an order that the scenario does
 * not have is named in part
 */
export function applyOverrides(
  state: MockState,
  { pools, orders, ...overrides }: MockOverrides,
): MockState {
  return {
    ...state,
    ...overrides,
    fundingFeeRate: { ...state.fundingFeeRate, ...overrides.fundingFeeRate },
    pools: {
      public: { ...state.pools.public, ...pools?.public },
      private: { ...state.pools.private, ...pools?.private },
    },
    round: { ...state.round, ...overrides.round },
    margins: { ...state.margins, ...overrides.margins },
    marginBalance: { ...state.marginBalance, ...overrides.marginBalance },
    settlement: { ...state.settlement, ...overrides.settlement },
    orders: new Map([
      ...state.orders,
      ...Object.entries(orders ?? {}).map(
        ([key, changes]): [bigint, MockOrder] => {
          const id = BigInt(key);
          return [
            id,
            completeOrder(id, { ...state.orders.get(id), ...changes }),
          ];
        },
      ),
    ]),
  };
}

function completeOrder(id: bigint, order: Partial<MockOrder>): MockOrder {
  const missing = orderFields.filter((field) => order[field] === undefined);
  if (missing.length > 0) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: `overrides.orders[${id}]`,
      problem: `the scenario has no such order to change, and ${missing.join(", ")} is missing`,
    });
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- nothing is missing, as was just checked
  return order as MockOrder;
}

const orderFields = operations.getOrderInfo.outputs.map(({ name }) => name);

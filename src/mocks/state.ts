import { getAddress, toBeHex } from "ethers";

import { describeInput, notOneOf, parseUint256 } from "../client/inputs.js";
import {
  checkAllValues,
  checkAnswer,
  checkValue,
  requireObject,
} from "../client/values.js";
import { invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import {
  ContractType,
  OrderState,
  fieldsOf,
  isOperationName,
  operationNames,
  operations,
  set,
  get,
  standaloneQueries,
  targetsOf,
} from "../protocol/index.js";
import type {
  Field,
  OperationName,
  PoolName,
  Query,
  VaultOrder,
} from "../protocol/index.js";
import { encodeRevertData } from "./failure.js";
import { someOrder } from "./scenarios.js";
import { settlementFields } from "./types.js";
import type {
  CheckedOrder,
  MockOverrides,
  MockState,
  ScriptedFailure,
  ScriptedSettlement,
} from "./types.js";

export const orderFields: readonly Field[] = operations.getOrderInfo.outputs;

/** The readings that mocks answer alike whatever they are asked. */
export const answers: readonly Query[] = [
  ...standaloneQueries,
  {
    operation: "calMargins",
    role: "vault",
    args: [{ maxVolume: 0n, APY: 0n, endTime: 0n }],
    path: ["margins"],
  },
];

/**
 * A state with some of its values changed.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT for an unknown value or half of one,
 * VAULT_INVALID_INTEGER, VAULT_INVALID_ADDRESS, VAULT_INVALID_ENUM
 */
export function applyOverrides(
  state: MockState,
  overrides: MockOverrides,
): MockState {
  // It follows from the settlement.
  const { settlementScripted: _scripted, ...changeable } = state;
  requireKnownKeys(overrides, changeable, "The changes to the mocks");
  const {
    missingOrdersRevert = state.missingOrdersRevert,
    failures = state.failures,
    settlement,
  } = overrides;
  const generatedOrders =
    overrides.generatedOrders === undefined
      ? state.generatedOrders
      : checkRange(overrides.generatedOrders);
  return {
    ...state,
    ...changedAnswers(state, overrides),
    orders: applyOrders({ ...state, generatedOrders }, overrides.orders),
    generatedOrders,
    missingOrdersRevert:
      checkValue(
        { type: "bool", unit: "none" },
        missingOrdersRevert,
        "missingOrdersRevert",
      ) === true,
    ...(settlement === undefined
      ? {}
      : {
          settlement: checkAllValues<ScriptedSettlement>(
            fieldsOf("getLatestRoundInfo", settlementFields),
            { ...state.settlement, ...requireObject(settlement, "settlement") },
            "settlement",
          ),
          settlementScripted: true,
        }),
    failures: checkFailures(failures),
  };
}

/** The state's answers with their changes, which are checked. */
function changedAnswers(
  state: object,
  overrides: MockOverrides,
): Partial<MockState> {
  const changed: Record<string, unknown> = {};
  for (const { operation, path } of answers) {
    const [key, variant] = path;
    if (variant !== undefined) {
      const { [key]: given = {} } = asRecord(overrides);
      requireKnownKeys(given, get(state, [key]), key);
    }
    const where = path.join(".");
    const before = get(state, path);
    const given = get(overrides, path);
    set(
      changed,
      path,
      given === undefined
        ? before
        : checkAnswer(
            operation,
            typeof before === "object"
              ? { ...before, ...requireObject(given, where) }
              : given,
            where,
          ),
    );
  }
  return changed;
}

function checkRange(range: unknown): MockState["generatedOrders"] {
  if (range === null) {
    return null;
  }
  const where = "generatedOrders";
  const { firstId, lastId } = requireObject(range, where);
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
  for (const [key, changes] of Object.entries(
    requireObject(overrides, "orders"),
  )) {
    const where = `orders.${key}`;
    const orderID = parseOrderKey(key);
    if (changes === null) {
      orders.set(orderID, null);
    } else if (changes !== undefined) {
      const order = {
        ...existingOrder(state, orderID),
        ...requireObject(changes, where),
      };
      orders.set(orderID, checkAllValues(orderFields, order, where));
    }
  }
  return orders;
}

/**
 * Reads an order's id, which has one spelling only: of two keys for one order,
 * one would be lost.
 *
 * @throws VaultError VAULT_INVALID_INTEGER
 */
export function parseOrderKey(key: string): bigint {
  return parseUint256(
    /^(?:0|[1-9][0-9]*)$/u.test(key) ? BigInt(key) : key,
    "An order's id",
  );
}

/** The order that changes are made to; of one that there is not, any. */
function existingOrder(
  { orders, generatedOrders: range }: MockState,
  orderID: bigint,
): CheckedOrder {
  const isGenerated =
    range !== null && orderID >= range.firstId && orderID <= range.lastId;
  return (
    orders.get(orderID) ?? (isGenerated ? generatedOrder(orderID) : someOrder)
  );
}

/** A misspelt key must not be an override that does nothing. */
export function requireKnownKeys(
  changes: unknown,
  known: unknown,
  where: string,
): void {
  const keys = Object.keys(requireObject(known, where));
  for (const key of Object.keys(requireObject(changes, where))) {
    if (!keys.includes(key)) {
      throw invalidArgument(
        where,
        `there is no ${describeInput(key)}; there are ${keys.join(", ")}`,
      );
    }
  }
}

/**
 * Checks what is to fail, or to succeed again: a mistyped name must not be a
 * failure that never happens.
 *
 * @param where What it is given to, named in errors.
 * @param prefix Put before the names of what is wrong.
 * @throws VaultError VAULT_INVALID_ENUM, VAULT_INVALID_ARGUMENT
 */
export function checkTarget(
  target: { operation: unknown; pool?: unknown },
  where: string,
  prefix = "",
): asserts target is { operation: OperationName; pool?: PoolName | undefined } {
  const { operation, pool } = target;
  if (typeof operation !== "string" || !isOperationName(operation)) {
    throw notOneOf(`${prefix}operation`, operationNames, operation);
  }
  const pools = targetsOf(operation).flatMap(({ variant = [] }) => variant);
  if (pool !== undefined && pools.length === 0) {
    throw invalidArgument(
      where,
      `${operation} is no operation of the pools, so none can be named`,
    );
  }
  if (pool !== undefined && !pools.some((known) => known === pool)) {
    throw notOneOf(`${prefix}pool`, pools, pool);
  }
}

function checkFailures(
  failures: readonly ScriptedFailure[],
): readonly ScriptedFailure[] {
  const given: unknown = failures;
  if (!Array.isArray(given)) {
    throw invalidArgument("failures", "a list is needed");
  }
  for (const [index, failure] of failures.entries()) {
    const place = `failures[${index}]`;
    requireKnownKeys(failure, { operation: 1, pool: 1, reason: 1 }, place);
    checkTarget(failure, place, `${place}.`);
    encodeRevertData(failure.reason, `${place}.reason`);
  }
  return failures;
}

const ONE = 10n ** 18n;
const DISTINCT_ORDERS = 1_000_000n;
const FIRST_HOLDER = 0x1000000000000000000000000000000000000001n;
const tickers = ["BTC", "ETH", "BNB", "SOL", "XRP"];

/**
 * The order that the mock computes for an id of its generated range: the
 * formula of `MockTrading._generatedOrder`, so that a test knows what to expect.
 * Values are unscaled.
 *
 * @example
 * ```ts
 * const { exType, openPrice } = generatedOrder(4n);
 * [exType, openPrice];
 * // [ 'XRP-USDT', 104000000000000000000n ]
 * ```
 */
export function generatedOrder(orderID: bigint): VaultOrder {
  const n = orderID % DISTINCT_ORDERS;
  const number = ((n + 1n) * ONE) / 100n;
  const newLockFee = number / 10_000n;
  const openPrice = (100n + (n % 997n)) * ONE;
  const marginAmount = (number * openPrice) / (10n * ONE);
  const isClosed = n % 3n === 0n;
  return {
    exType: `${tickers[Number(n % 5n)] ?? ""}-USDT`,
    holder: getAddress(toBeHex(FIRST_HOLDER + (n % 7n), 20)),
    number,
    exFee: number / 1_000n,
    lockFee: newLockFee * (n % 10n),
    newLockFee,
    openPrice,
    marginAmount,
    marginFee: marginAmount / 100n,
    startTime: 1_700_000_000n + n * 60n,
    closePrice: isClosed ? (openPrice * 102n) / 100n : 0n,
    contractType: n % 2n === 0n ? ContractType.put : ContractType.call,
    state: isClosed ? OrderState.closed : OrderState.open,
  };
}

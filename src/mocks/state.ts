import { getAddress, toBeHex } from "ethers";

import { describeInput, notOneOf, parseUint256 } from "../client/inputs.js";
import {
  checkAllValues,
  checkAnswer,
  checkValue,
  requireObject,
} from "../client/values.js";
import { invalidArgument } from "../errors.js";
import {
  ContractType,
  OrderState,
  fieldsOf,
  get,
  isOperationName,
  operationNames,
  operations,
  set,
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
 * A state with some of its values changed, each of which is checked. A value that
 * the state does not have has to be whole.
 *
 * @param unknownOrder Completes orders that the state does not have.
 * @throws VaultError VAULT_INVALID_ARGUMENT for an unknown value or half of one,
 * VAULT_INVALID_INTEGER, VAULT_INVALID_ADDRESS, VAULT_INVALID_ENUM
 */
export function applyOverrides(
  state: MockState,
  overrides: MockOverrides,
  unknownOrder: Partial<CheckedOrder> = someOrder,
): MockState {
  requireKnownKeys(overrides, state, "The changes to the mocks");
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
    generatedOrders,
    orders: changedOrders(
      { ...state, generatedOrders },
      overrides,
      unknownOrder,
    ),
    missingOrdersRevert:
      checkValue(
        { type: "bool", unit: "none" },
        missingOrdersRevert,
        "missingOrdersRevert",
      ) === true,
    settlement:
      settlement === undefined
        ? state.settlement
        : checkAllValues<ScriptedSettlement>(
            fieldsOf("getLatestRoundInfo", settlementFields),
            { ...state.settlement, ...requireObject(settlement, "settlement") },
            "settlement",
          ),
    failures: checkFailures(failures),
  };
}

function changedAnswers(state: object, overrides: object): Partial<MockState> {
  const changed: Record<string, unknown> = { ...state };
  for (const { operation, path } of answers) {
    const [key, variant] = path;
    const group = get(overrides, [key]);
    if (variant !== undefined && group !== undefined) {
      requireKnownKeys(group, get(state, [key]), key);
    }
    const given = get(overrides, path);
    if (given !== undefined) {
      const where = path.join(".");
      const before = get(state, path);
      const whole =
        typeof before === "object"
          ? { ...before, ...requireObject(given, where) }
          : given;
      set(changed, path, checkAnswer(operation, whole, where));
    }
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

function changedOrders(
  { orders, generatedOrders: range }: MockState,
  { orders: overrides = {} }: MockOverrides,
  unknownOrder: Partial<CheckedOrder>,
): MockState["orders"] {
  const changed = new Map(orders);
  for (const [key, changes] of Object.entries(
    requireObject(overrides, "orders"),
  )) {
    const where = `orders.${key}`;
    const id = parseOrderKey(key);
    if (changes === null) {
      changed.set(id, null);
    } else if (changes !== undefined) {
      const isGenerated =
        range !== null && id >= range.firstId && id <= range.lastId;
      const order = {
        ...(orders.get(id) ??
          (isGenerated ? generatedOrder(id) : unknownOrder)),
        ...requireObject(changes, where),
      };
      changed.set(id, checkAllValues<CheckedOrder>(orderFields, order, where));
    }
  }
  return changed;
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

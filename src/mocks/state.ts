import { getAddress, toBeHex } from "ethers";

import {
  describeInput,
  givenInput,
  notOneOf,
  parseAddress,
  parseEnum,
  parseUint256,
} from "../client/inputs.js";
import { invalidArgument, vaultError } from "../errors.js";
import {
  ContractType,
  OrderState,
  fieldsOf,
  isEnumName,
  isOperationName,
  operationEntry,
  operationNames,
  operations,
  placeReading,
  readingAt,
  standaloneReadings,
  targetsOf,
} from "../protocol/index.js";
import type {
  Field,
  OperationName,
  PoolName,
  VaultOrder,
  Reading,
} from "../protocol/index.js";
import { encodeRevertData, requireReason } from "./failure.js";
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
export const answers: readonly Reading[] = [
  ...standaloneReadings,
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
 * @throws VaultError VAULT_INVALID_ARGUMENT if there is no such value or only
 * half of one, VAULT_INVALID_INTEGER, VAULT_INVALID_ADDRESS, VAULT_INVALID_ENUM
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
  } = overrides;
  const generatedOrders = checkRange(
    overrides.generatedOrders,
    state.generatedOrders,
  );
  return {
    ...state,
    ...changedAnswers(state, overrides),
    orders: applyOrders({ ...state, generatedOrders }, overrides.orders),
    generatedOrders,
    missingOrdersRevert: requireBoolean(
      missingOrdersRevert,
      "missingOrdersRevert",
    ),
    ...(overrides.settlement === undefined
      ? {}
      : {
          settlement: checkAllValues<ScriptedSettlement>(
            fieldsOf("getLatestRoundInfo", settlementFields),
            {
              ...state.settlement,
              ...requireObject(overrides.settlement, "settlement"),
            },
            "settlement",
          ),
          settlementScripted: true,
        }),
    failures: checkFailures(failures),
  };
}

/** What stands in a state by the table of operations, with its changes. */
function changedAnswers(
  state: MockState,
  overrides: MockOverrides,
): Partial<MockState> {
  const changed: Record<string, unknown> = {};
  for (const { operation, path } of answers) {
    const [key, variant] = path;
    if (variant !== undefined) {
      const given = readingAt(overrides, [key]) ?? {};
      requireKnownKeys(given, readingAt(state, [key]), key);
    }
    const before = readingAt(state, path);
    const changes = readingAt(overrides, path);
    placeReading(
      changed,
      path,
      changes === undefined
        ? before
        : changedAnswer(operation, before, changes, path.join(".")),
    );
  }
  return changed;
}

function changedAnswer(
  operation: OperationName,
  before: unknown,
  changes: unknown,
  where: string,
): unknown {
  const { outputs } = operationEntry(operation);
  const [only] = outputs;
  return only !== undefined && outputs.length === 1
    ? checkValue(only, changes, where)
    : checkAllValues(
        outputs,
        { ...requireObject(before, where), ...requireObject(changes, where) },
        where,
      );
}

function checkRange(
  range: unknown,
  before: MockState["generatedOrders"],
): MockState["generatedOrders"] {
  if (range === undefined || range === null) {
    return range === null ? null : before;
  }
  const where = "generatedOrders";
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
  const keys = new Map<bigint, string>();
  for (const [key, changes] of Object.entries(
    requireObject(overrides, "orders"),
  )) {
    const where = `orders[${describeInput(key)}]`;
    const orderID = parseOrderKey(key, where);
    const other = keys.get(orderID);
    if (other !== undefined) {
      // Of the two, one would be dropped.
      throw invalidArgument(
        where,
        `it cannot be given together with ${describeInput(other)}, which is the same order`,
      );
    }
    keys.set(orderID, key);
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

/** @throws VaultError VAULT_INVALID_INTEGER for a key that is no order's id */
export function parseOrderKey(key: string, where: string): bigint {
  return parseUint256(/^[0-9]+$/u.test(key) ? BigInt(key) : key, where);
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
function requireKnownKeys(
  changes: unknown,
  known: unknown,
  where: string,
): void {
  const keys = Object.keys(requireObject(known, where));
  for (const key of Object.keys(requireObject(changes, where))) {
    if (!keys.includes(key)) {
      throw invalidArgument(
        where,
        `there is no ${describeInput(key)} to change; there are ${keys.join(", ")}`,
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
  if (pool === undefined) {
    return;
  }
  const pools = targetsOf(operation).flatMap(({ variant = [] }) => variant);
  if (pools.length === 0) {
    throw invalidArgument(
      where,
      `${operation} is no operation of the pools, so none can be named`,
    );
  }
  if (!pools.some((known) => known === pool)) {
    throw notOneOf(`${prefix}pool`, pools, pool);
  }
}

function checkFailures(
  failures: readonly ScriptedFailure[],
): readonly ScriptedFailure[] {
  requireType(Array.isArray(failures), failures, "failures", "a list");
  failures.forEach((failure: unknown, index) => {
    const place = `failures[${index}]`;
    const { operation, pool, reason } = requireObject(failure, place);
    requireKnownKeys(failure, { operation, pool, reason }, place);
    checkTarget({ operation, pool }, place, `${place}.`);
    requireReason(reason, `${place}.reason`);
    encodeRevertData(reason, `${place}.reason`);
  });
  return failures;
}

/**
 * Checks values that a mock is to answer, which in JavaScript can be anything.
 *
 * @param where What the values are for, named in errors.
 * @returns The values, integers as bigints and words as numbers, without those
 * left undefined.
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER,
 * VAULT_INVALID_ADDRESS, VAULT_INVALID_ENUM
 */

export function checkValues<Values extends object>(
  fields: readonly Field[],
  values: unknown,
  where: string,
): Partial<Values> {
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(requireObject(values, where))) {
    const field = fields.find((known) => known.name === name);
    if (field === undefined) {
      throw invalidArgument(
        where,
        `${describeInput(name)} is not a field; the fields are ${fields.map((known) => known.name).join(", ")}`,
      );
    }
    if (value !== undefined) {
      checked[name] = checkValue(field, value, `${where}.${name}`);
    }
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each value was checked to be of the type that its field has
  return checked as Partial<Values>;
}

/**
 * Like {@link checkValues}, for values of which none may be missing.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT if one is
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the type that the fields make, which the caller names
export function checkAllValues<Values extends object>(
  fields: readonly Field[],
  values: unknown,
  where: string,
): Values {
  const checked = checkValues<Values>(fields, values, where);
  const missing = fields
    .map(({ name }) => name)
    .filter((name) => !Object.hasOwn(checked, name));
  if (missing.length > 0) {
    throw invalidArgument(
      where,
      `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing${fields.length === 2 ? ": give both" : ""}`,
    );
  }
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- none is missing
  return checked as Values;
}

function checkValue(
  { type, unit }: Field,
  value: unknown,
  where: string,
): unknown {
  switch (type) {
    case "uint256":
      return parseUint256(value, where);
    case "uint8":
      // Any number is taken: a contract may return one that is not listed.
      return typeof value === "string" && isEnumName(unit)
        ? parseEnum(unit, value, where)
        : parseUint8(value, where);
    case "address":
      return parseAddress(value, where);
    case "bool":
      return requireBoolean(value, where);
    case "string":
      return requireType(
        typeof value === "string" || value instanceof Uint8Array,
        value,
        where,
        "a string or bytes",
      );
  }
}

function parseUint8(value: unknown, where: string): number {
  if (
    typeof value === "number" &&
    Number.isInteger(value) &&
    value >= 0 &&
    value <= 255
  ) {
    return value;
  }
  throw vaultError("VAULT_INVALID_INTEGER", {
    where,
    bits: 8,
    value: givenInput(value),
  });
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
function requireBoolean(value: unknown, where: string): boolean {
  requireType(typeof value === "boolean", value, where, "a boolean");
  return value === true;
}

/** An object by its keys; the keys of a list would be its indexes. */
function requireObject(
  value: unknown,
  where: string,
  type = "an object",
): Readonly<Record<string, unknown>> {
  const isObject =
    typeof value === "object" && value !== null && !Array.isArray(value);
  requireType(isObject, value, where, type);
  return { ...(isObject ? value : {}) };
}

function requireType(
  isOfType: boolean,
  value: unknown,
  where: string,
  type: string,
): unknown {
  if (!isOfType) {
    throw invalidArgument(
      where,
      `${type} is needed, got ${describeInput(value)}`,
    );
  }
  return value;
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

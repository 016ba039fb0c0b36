import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { toBeHex } from "ethers";

import {
  checksumAddress,
  describeInput,
  notOneOf,
  parseEnum,
  parseUint256,
} from "../client/inputs.js";
import {
  checkValues,
  checkAnswer,
  checkValue,
  requireObject,
} from "../client/values.js";
import { assertInvariant, invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import {
  ContractType,
  OrderState,
  fieldsOf,
  get,
  isOperationName,
  operationEntry,
  operationNames,
  operations,
  set,
  standaloneQueries,
  targetsOf,
  wireName,
} from "../protocol/index.js";
import type {
  Field,
  OperationName,
  PoolName,
  Query,
  VaultOrder,
} from "../protocol/index.js";
import { encodeRevertData } from "./failure.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { someOrder } from "./scenarios.js";
import type {
  MockOverrides,
  MockState,
  ScriptedFailure,
  ScriptedReason,
} from "./types.js";

export const orderFields: readonly Field[] = operations.getOrderInfo.outputs;

export const nextRoundFields: readonly Field[] =
  operations.getLatestRoundInfo.outputs.filter(
    ({ name }) => !name.startsWith("settled"),
  );

export const settlementFields: readonly Field[] = fieldsOf(
  "getLatestRoundInfo",
  ["settledPrice", "settledAmount"],
);

/** The readings that mocks return for any arguments. */
export const answers: readonly Query[] = [
  ...standaloneQueries,
  {
    operation: "calMargins",
    role: "vault",
    args: [{ maxVolume: 0n, APY: 0n, endTime: 0n }],
    path: ["margins"],
  },
];

const rangeFields = ["firstId", "lastId"].map((name): Field => ({
  name,
  type: "uint256",
  unit: "none",
  label: name,
}));

interface Settable {
  readonly path: Query["path"];
  /** Checks a change, and returns the new value. */
  readonly change: (given: unknown, state: MockState) => unknown;
  readonly calls: (
    state: MockState,
    changes: MockOverrides,
  ) => readonly ScriptCall[];
}

const settables: readonly Settable[] = [
  ...answers.map((answer): Settable => {
    const { operation, path } = answer;
    const where = path.join(".");
    return {
      path,
      change: (given, state) =>
        checkAnswer(operation, merge(get(state, path), given, where), where),
      calls: (state) => [setAnswer(answer, get(state, path))],
    };
  }),
  {
    path: ["missingOrdersRevert"],
    change: (given) =>
      checkValue({ type: "bool", unit: "none" }, given, "missingOrdersRevert"),
    calls: ({ missingOrdersRevert }) => [
      call("trading", "setMissingOrdersRevert", missingOrdersRevert),
    ],
  },
  {
    path: ["generatedOrders"],
    change: (range) =>
      range === null
        ? null
        : checkValues(rangeFields, range, "generatedOrders"),
    calls: ({ generatedOrders }) => {
      // A range that ends before it begins is empty.
      const { firstId, lastId } = generatedOrders ?? {
        firstId: 1n,
        lastId: 0n,
      };
      return [call("trading", "generateOrders", firstId, lastId)];
    },
  },
  {
    path: ["orders"],
    change: changedOrders,
    calls: ({ orders }) => callsForOrders(orders),
  },
  {
    path: ["settlement"],
    change: (given, { settlement }) => {
      const whole = merge(settlement, given, "settlement");
      return checkValues(settlementFields, whole, "settlement");
    },
    calls: ({ settlement: { settledPrice, settledAmount } }, changes) => {
      const setter =
        changes.settlement === undefined
          ? "setFirstSettlement"
          : "setSettlement";
      return [call("vault", setter, settledPrice, settledAmount)];
    },
  },
  {
    path: ["failures"],
    change: checkFailures,
    calls: ({ failures }) => failures.flatMap(callsForFailure),
  },
];

/** Checks changes, and returns the changed state. */
export function applyOverrides(
  state: MockState,
  overrides: MockOverrides,
): MockState {
  requireKnownKeys(overrides, state, "The changes to the mocks");
  const changed = { ...state };
  for (const { path, change } of settables) {
    const [key, variant] = path;
    const group = get(overrides, [key]);
    if (variant !== undefined && group !== undefined) {
      requireKnownKeys(group, get(state, [key]), key);
    }
    const given = get(overrides, path);
    if (given !== undefined) {
      set(changed, path, change(given, changed));
    }
  }
  return changed;
}

/** Returns the calls that set the values that `named` has keys for. */
export function callsForChanges(
  state: MockState,
  changes: MockOverrides,
  named: object = changes,
): readonly ScriptCall[] {
  return settables
    .filter(({ path }) => get(named, path) !== undefined)
    .flatMap(({ calls }) => calls(state, changes));
}

/** Sets an operation's answer: the contract type, if it takes one, then its values. */
function setAnswer(
  { operation, role, args }: Query,
  answer: unknown,
): ScriptCall {
  const { key, inputs, outputs } = operationEntry(operation);
  const mock = mockInterfaces[role];
  // A setter is named after the function or after the value.
  const setter = [wireName(operation).replace(/^(?:get|query|cal)/u, ""), key]
    .map((name) => `set${capitalize(name)}`)
    .find((name) => mock.hasFunction(name));
  assertInvariant(setter !== undefined, `no mock answers ${operation}`);
  if (mock.getFunction(setter)?.inputs[0]?.baseType === "tuple") {
    return call(role, setter, answer);
  }
  const chosen = inputs.some(({ unit }) => unit === "contractType")
    ? args.map((word) => parseEnum("contractType", word, "contractType"))
    : [];
  const values =
    outputs.length === 1
      ? [answer]
      : outputs.map(({ name }) => asRecord(answer)[name]);
  return call(role, setter, ...chosen, ...values);
}

/** A null reason ends the failure. */
export function callsForFailure({
  operation,
  pool,
  reason,
}: Omit<ScriptedFailure, "reason"> & {
  readonly reason: ScriptedReason | null;
}): ScriptCall[] {
  const { selector } = operationEntry(operation);
  return targetsOf(operation)
    .filter(({ variant }) => pool === undefined || variant === pool)
    .map(({ role }) =>
      reason === null
        ? call(role, "clearRevert", selector)
        : call(role, "setRevert", selector, encodeRevertData(reason)),
    );
}

/** A null order is removed. */
export function callsForOrders(orders: MockState["orders"]): ScriptCall[] {
  return [...orders].map(([orderID, order]) =>
    order === null
      ? call("trading", "removeOrder", orderID)
      : call("trading", "setOrder", orderID, {
          ...order,
          // A lone surrogate becomes U+FFFD; ethers would throw.
          exType: new TextEncoder().encode(order.exType),
        }),
  );
}

function merge(before: unknown, given: unknown, where: string): unknown {
  return typeof before === "object"
    ? { ...before, ...requireObject(given, where) }
    : given;
}

function changedOrders(
  given: unknown,
  { orders, generatedOrders: range }: MockState,
): MockState["orders"] {
  const changed = new Map(orders);
  for (const [key, changes] of Object.entries(requireObject(given, "orders"))) {
    const where = `orders.${key}`;
    const id = parseOrderKey(key);
    if (changes === null) {
      changed.set(id, null);
    } else if (changes !== undefined) {
      const isGenerated =
        range !== null && id >= range.firstId && id <= range.lastId;
      const before =
        orders.get(id) ?? (isGenerated ? generatedOrder(id) : someOrder);
      const order = merge(before, changes, where);
      changed.set(id, checkValues(orderFields, order, where));
    }
  }
  return changed;
}

/** Takes one spelling only: two keys for one order would overwrite each other. */
export function parseOrderKey(key: string): bigint {
  return parseUint256(
    /^(?:0|[1-9][0-9]*)$/u.test(key) ? BigInt(key) : key,
    "An order's id",
  );
}

/** Refuses a misspelt key, which would change nothing. */
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

/** Refuses a misspelt name, which would never fail. */
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
  if (pool !== undefined && !pools.some((known) => known === pool)) {
    throw pools.length === 0
      ? invalidArgument(where, `${operation} has no pool`, "Omit it.")
      : notOneOf(`${prefix}pool`, pools, pool);
  }
}

function checkFailures(given: unknown): MockState["failures"] {
  if (!Array.isArray(given)) {
    throw invalidArgument("failures", "a list is needed");
  }
  return given.map((failure: ScriptedFailure, index) => {
    const place = `failures[${index}]`;
    requireKnownKeys(failure, { operation: 1, pool: 1, reason: 1 }, place);
    checkTarget(failure, place, `${place}.`);
    encodeRevertData(failure.reason, `${place}.reason`);
    return failure;
  });
}

const ONE = 10n ** 18n;
const DISTINCT_ORDERS = 1_000_000n;
const FIRST_HOLDER = 0x1000000000000000000000000000000000000001n;
const tickers = ["BTC", "ETH", "BNB", "SOL", "XRP"];

/**
 * Computes the order of an id in a generated range, unscaled, with the formula of
 * `MockTrading._generatedOrder`.
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
    holder: checksumAddress(toBeHex(FIRST_HOLDER + (n % 7n), 20)),
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

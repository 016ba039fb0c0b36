import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { ZeroAddress, id as hashText, toBeHex } from "ethers";

import {
  checksumAddress,
  notOneOf,
  parseEnum,
  parseUint256,
} from "../client/inputs.js";
import {
  checkValues,
  checkAnswer,
  requireKnownKeys,
  requireObject,
} from "./values.js";
import type { NamedField } from "./values.js";
import { assertInvariant } from "../errors.js";
import { asRecord } from "../json.js";
import {
  ContractType,
  OrderState,
  fieldsOf,
  get,
  operationEntry,
  operations,
  set,
  standaloneQueries,
  wireName,
} from "../protocol/index.js";
import type {
  Field,
  MarginAmounts,
  Query,
  VaultOrder,
} from "../protocol/index.js";
import { callsForFailure, checkFailures } from "./failure.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { someOrder } from "./scenarios.js";
import type {
  MarginsOfTerms,
  MockOverrides,
  MockState,
  ScriptedReward,
  ScriptedSettlement,
  UnknownOrders,
} from "./types.js";

export const orderFields: readonly Field[] = operations.getOrderInfo.outputs;

export const nextRoundFields: readonly Field[] =
  operations.getLatestRoundInfo.outputs.filter(
    ({ name }) => !name.startsWith("settled"),
  );

const ownFields: readonly NamedField[] = [
  ...fieldsOf("getLatestRoundInfo", ["settledPrice", "settledAmount"]),
  { name: "notBeforeEnd", type: "bool", unit: "none" },
  { name: "needsPrice", type: "bool", unit: "none" },
];

const rewardFields: readonly NamedField[] = [
  { name: "token", type: "address", unit: "none" },
  { name: "amount", type: "uint256", unit: "none" },
];

/** The values of a settlement, by their paths. */
export const settlementFields: readonly NamedField[] = [
  ...ownFields,
  ...rewardFields.map((field) => ({ ...field, name: `reward.${field.name}` })),
];

/** In the order of `UnknownOrders` in MockTrading.sol. */
const unknownOrders: readonly UnknownOrders[] = ["zeros", "revert", "invalid"];

const margins: Query = {
  operation: "calMargins",
  role: "vault",
  args: [{ maxVolume: 0n, APY: 0n, endTime: 0n }],
  path: ["margins"],
};

/** `ANY` of MockVault.sol. */
const ANY = BigInt(hashText("hardhat-vault/any"));

/** The readings that mocks return for any arguments; margins can depend on them. */
export const answers: readonly Query[] = [...standaloneQueries, margins];

const rangeFields: readonly NamedField[] = [
  { name: "firstId", type: "uint256", unit: "none" },
  { name: "lastId", type: "uint256", unit: "none" },
];

interface Settable {
  readonly path: Query["path"];
  /** Checks a change, and returns the new value. */
  readonly change: (given: unknown, state: MockState) => unknown;
  readonly calls: (
    state: MockState,
    changes: MockOverrides,
  ) => readonly ScriptCall[];
}

function settableAnswer(answer: Query): Settable {
  const { operation, path } = answer;
  const where = path.join(".");
  return {
    path,
    change: (given, state) =>
      checkAnswer(operation, merge(get(state, path), given, where), where),
    calls: (state) => [setAnswer(answer, get(state, path))],
  };
}

const settableMargins = settableAnswer(margins);

const settables: readonly Settable[] = [
  ...standaloneQueries.map(settableAnswer),
  {
    path: margins.path,
    change: (given, state) =>
      Array.isArray(given)
        ? given.map((each: unknown, index) => {
            const { inputs, outputs } = operations.calMargins;
            const fields = [...inputs, ...outputs];
            const required = outputs.map(({ name }) => name);
            return checkValues(fields, each, `margins[${index}]`, required);
          })
        : settableMargins.change(
            given,
            isByTerms(state.margins)
              ? // There are no amounts to keep.
                { ...state, margins: {} as MarginAmounts }
              : state,
          ),
    calls: (state, changes) =>
      isByTerms(state.margins)
        ? [
            call(
              "vault",
              "setMarginsOfTerms",
              state.margins.map(
                ({ maxVolume = ANY, APY = ANY, endTime = ANY, ...amounts }) => [
                  [maxVolume, APY, endTime],
                  [amounts.baseMarginAmount, amounts.xMarginAmount],
                ],
              ),
            ),
          ]
        : settableMargins.calls(state, changes),
  },
  {
    path: ["unknownOrders"],
    change: (given) => {
      const found = unknownOrders.find((each) => each === given);
      if (found === undefined) {
        throw notOneOf("unknownOrders", unknownOrders, given);
      }
      return found;
    },
    calls: (state) => [
      call(
        "trading",
        "setUnknownOrders",
        unknownOrders.indexOf(state.unknownOrders),
      ),
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
    change: changedSettlement,
    calls: callsForSettlement,
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
  requireKnownKeys(overrides, Object.keys(state), "The changes to the mocks");
  const changed = { ...state };
  for (const { path, change } of settables) {
    const [key, variant] = path;
    const group = get(overrides, [key]);
    if (variant !== undefined && group !== undefined) {
      requireKnownKeys(group, Object.keys(asRecord(get(state, [key]))), key);
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

function callsForSettlement(
  { settlement }: MockState,
  { settlement: changed = {} }: MockOverrides,
): readonly ScriptCall[] {
  // set() leaves out what is not changed.
  const left: Partial<ScriptedSettlement> = settlement;
  const { settledPrice, settledAmount, notBeforeEnd, needsPrice, reward } =
    left;
  const none = reward === null ? 0n : undefined;
  const { token = ZeroAddress, amount = none } = reward ?? {};
  const isChanged = [changed.settledPrice, changed.settledAmount].some(
    (value) => value !== undefined,
  );
  const setters: ReadonlyArray<readonly [setter: string, ...unknown[]]> = [
    [
      isChanged ? "setSettlement" : "setFirstSettlement",
      settledPrice,
      settledAmount,
    ],
    ["setNotBeforeEnd", notBeforeEnd],
    ["setNeedsPrice", needsPrice],
    ["setReward", token, amount],
  ];
  return setters
    .filter(([, ...values]) => !values.includes(undefined))
    .map(([setter, ...values]) => call("vault", setter, ...values));
}

/** Checks the changes of a settlement, which has both its values or none. */
function changedSettlement(
  given: unknown,
  { settlement }: MockState,
): Partial<ScriptedSettlement> {
  const where = "settlement";
  const names = [...ownFields.map(({ name }) => name), "reward"];
  const { reward, ...values } = requireKnownKeys(
    merge(settlement, given, where),
    names,
    where,
  );
  const both = ["settledPrice", "settledAmount"];
  const checked = checkValues<Partial<ScriptedSettlement>>(
    ownFields,
    values,
    where,
    both.some((name) => values[name] !== undefined) ? both : [],
  );
  const rewarded =
    reward === undefined || reward === null
      ? reward
      : checkValues<ScriptedReward>(rewardFields, reward, `${where}.reward`, [
          "amount",
        ]);
  return rewarded === undefined ? checked : { ...checked, reward: rewarded };
}

function isByTerms(
  given: MockState["margins"],
): given is readonly MarginsOfTerms[] {
  return Array.isArray(given);
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
export function generatedOrder(orderID: bigint | number): VaultOrder {
  const n = parseUint256(orderID, "orderID") % DISTINCT_ORDERS;
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

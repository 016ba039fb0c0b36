import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { ZeroAddress, id as hashText, toBeHex } from "ethers";

import { checksumAddress, parseEnum, parseUint256 } from "../client/inputs.js";
import type { VaultClient } from "../client/vault-client.js";
import { assertInvariant, fallbackTo, invalidArgument } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import {
  ContractType,
  OrderState,
  get,
  operationEntry,
  operations,
  placesOf,
  set,
  standaloneQueries,
} from "../protocol/index.js";
import type {
  CalMarginsParameters,
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
  ScriptedSettlement,
  UnknownOrders,
} from "./types.js";
import { checkObject, requireOneOf } from "./values.js";
import type { CheckedField, Fields } from "./values.js";

const margins: Query = {
  operation: "calMargins",
  role: "vault",
  args: [{ maxVolume: 0n, APY: 0n, endTime: 0n }],
  path: ["margins"],
};

/** The readings that mocks return for any arguments; margins can depend on them. */
export const answers: readonly Query[] = [...standaloneQueries, margins];

const { getOrderInfo, calMargins } = operations;

const uint256: CheckedField = { type: "uint256", unit: "none" };
const flag: CheckedField = { type: "bool", unit: "none" };

/** The values of a state by their paths. */
export const stateFields: Fields = new Map<string, CheckedField>([
  ...answers
    .flatMap(placesOf)
    .map(({ path, field }) => [path.join("."), field] as const),
  ...getOrderInfo.outputs.map(
    (field) => [`orders.*.${field.name}`, field] as const,
  ),
  ["generatedOrders.firstId", uint256],
  ["generatedOrders.lastId", uint256],
  ["settlement.settledPrice", { type: "uint256", unit: "price" }],
  ["settlement.settledAmount", uint256],
  ["settlement.notBeforeEnd", flag],
  ["settlement.needsPrice", flag],
  ["settlement.reward.token", { type: "address", unit: "none" }],
  ["settlement.reward.amount", uint256],
]);

export const orderValues = getOrderInfo.outputs.map(({ name }) => name);
const amounts = calMargins.outputs.map(({ name }) => name);
const terms: Fields = new Map(
  calMargins.inputs.map((field) => [field.name, field]),
);
const marginsOfTerms: Fields = new Map([
  ...terms,
  ...calMargins.outputs.map((field) => [field.name, field] as const),
]);

/** Checks arguments of `calMargins`. */
export function checkTerms(
  given: unknown,
  where: string,
): CalMarginsParameters {
  // each value was checked to be there, and to be of the type that its field has
  return checkObject(terms, given, where, "", [
    ...terms.keys(),
  ]) as unknown as CalMarginsParameters;
}

/** In the order of `UnknownOrders` in MockTrading.sol. */
const unknownAnswers: readonly UnknownOrders[] = ["zeros", "revert", "invalid"];

/** Checked changes to a state. */
export type StateChanges = Omit<MockOverrides, "orders" | "generatedOrders"> & {
  readonly generatedOrders?: MockState["generatedOrders"];
  /** Null for an order that is removed. */
  readonly orders?: ReadonlyMap<bigint, Partial<VaultOrder> | null>;
};

/** Refuses unknown keys, and values that a contract cannot hold. */
export function checkChanges(overrides: object): StateChanges {
  const {
    unknownOrders,
    failures,
    margins: given,
    ...others
  } = asRecord(overrides);
  const isByTerms = Array.isArray(given);
  const { orders, ...checked } = checkObject(
    stateFields,
    isByTerms ? others : { ...others, margins: given },
    "",
  );
  // each value was checked to be of the type that its field has
  return {
    ...checked,
    ...(isByTerms && {
      margins: given.map((each: unknown, index) =>
        checkObject(marginsOfTerms, each, `margins[${index}]`, "", amounts),
      ),
    }),
    ...(orders !== undefined && {
      orders: new Map(
        Object.entries(asRecord(orders)).map(([key, order]) => [
          parseOrderKey(key),
          order,
        ]),
      ),
    }),
    ...(unknownOrders !== undefined && {
      unknownOrders: requireOneOf(
        unknownAnswers,
        unknownOrders,
        "unknownOrders",
      ),
    }),
    ...(failures !== undefined && { failures: checkFailures(failures) }),
  } as StateChanges;
}

/** Takes one spelling only: two keys for one order would overwrite each other. */
export function parseOrderKey(key: string): bigint {
  return parseUint256(
    /^(?:0|[1-9][0-9]*)$/u.test(key) ? BigInt(key) : key,
    "An order's id",
  );
}

/** True of an answer of which the changes name some values. */
export function isPartlyChanged(
  { operation, path }: Query,
  changes: StateChanges,
): boolean {
  const given = get(changes, path);
  return (
    typeof given === "object" &&
    !Array.isArray(given) &&
    operationEntry(operation).outputs.some(
      ({ name }) => asRecord(given)[name] === undefined,
    )
  );
}

/** @param isExpected True of the errors of answers that are left out. */
export async function readAnswers(
  vault: VaultClient,
  queries: readonly Query[],
  isExpected?: (error: VaultError) => boolean,
): Promise<StateChanges> {
  const found: Record<string, unknown> = {};
  for (const { operation, args, path } of queries) {
    const answer: unknown = await vault
      // the arguments of a query are what its operation takes
      .read(operation, args as never)
      .catch(fallbackTo(undefined, isExpected));
    if (answer !== undefined) {
      set(found, path, answer);
    }
  }
  return found;
}

export function applyChanges(
  state: MockState,
  { orders, settlement, ...given }: StateChanges,
): MockState {
  const changed: Record<string, unknown> = {
    ...state,
    ...given,
    orders: changedOrders({ ...state, ...given }, orders),
    settlement: { ...state.settlement, ...settlement },
  };
  for (const { path } of answers) {
    const [before, after] = [get(state, path), get(given, path)];
    const isPart = typeof after === "object" && !Array.isArray(after);
    // Margins by terms have no amounts to keep.
    const kept = Array.isArray(before) ? {} : asRecord(before);
    set(changed, path, isPart ? { ...kept, ...after } : (after ?? before));
  }
  // the state with values that were checked to be of its fields
  return changed as unknown as MockState;
}

function changedOrders(
  {
    orders,
    generatedOrders: range,
  }: Pick<MockState, "orders" | "generatedOrders">,
  changed: StateChanges["orders"] = new Map(),
): MockState["orders"] {
  return new Map([
    ...orders,
    ...[...changed].map(([id, order]) => {
      const isGenerated =
        range !== null && id >= range.firstId && id <= range.lastId;
      const before =
        orders.get(id) ?? (isGenerated ? generatedOrder(id) : someOrder);
      return [id, order === null ? null : { ...before, ...order }] as const;
    }),
  ]);
}

/** Returns the calls that set the values of a state that `named` has keys for. */
export function callsForChanges(
  state: MockState,
  changes: StateChanges,
  named: object = changes,
): readonly ScriptCall[] {
  const { generatedOrders, unknownOrders: unknown } = state;
  // A range that ends before it begins is empty.
  const { firstId, lastId } = generatedOrders ?? { firstId: 1n, lastId: 0n };
  const others = {
    unknownOrders: () => [
      call("trading", "setUnknownOrders", unknownAnswers.indexOf(unknown)),
    ],
    generatedOrders: () => [call("trading", "generateOrders", firstId, lastId)],
    orders: () => callsForOrders(state.orders),
    settlement: () => callsForSettlement(state, changes),
    failures: () => state.failures.flatMap((each) => callsForFailure(each)),
  };
  return [
    ...answers
      .filter(({ path }) => get(named, path) !== undefined)
      .map((answer) => setAnswer(answer, get(state, answer.path))),
    ...Object.entries(others).flatMap(([key, calls]) =>
      get(named, [key]) === undefined ? [] : calls(),
    ),
  ];
}

/** Sets an operation's answer: the contract type, if it takes one, then its values. */
function setAnswer(
  { operation, role, args, path }: Query,
  answer: unknown,
): ScriptCall {
  if (Array.isArray(answer)) {
    return setMarginsOfTerms(answer);
  }
  const {
    key,
    inputs,
    outputs,
    functionName = operation,
  } = operationEntry(operation);
  const values =
    outputs.length === 1
      ? [answer]
      : outputs.map(({ name }) => asRecord(answer)[name]);
  if (values.includes(undefined)) {
    throw invalidArgument(path.join("."), "all its values are needed");
  }
  const mock = mockInterfaces[role];
  // A setter is named after the function or after the value.
  const setter = [functionName.replace(/^(?:get|query|cal)/u, ""), key]
    .map((name) => `set${capitalize(name)}`)
    .find((name) => mock.hasFunction(name));
  assertInvariant(setter !== undefined, `no mock answers ${operation}`);
  if (mock.getFunction(setter)?.inputs[0]?.baseType === "tuple") {
    return call(role, setter, answer);
  }
  const chosen = inputs.some(({ unit }) => unit === "contractType")
    ? args.map((word) => parseEnum("contractType", word, "contractType"))
    : [];
  return call(role, setter, ...chosen, ...values);
}

/** `ANY` of MockVault.sol. */
const ANY = BigInt(hashText("hardhat-vault/any"));

function setMarginsOfTerms(all: readonly MarginsOfTerms[]): ScriptCall {
  return call(
    "vault",
    "setMarginsOfTerms",
    all.map(({ maxVolume = ANY, APY = ANY, endTime = ANY, ...amount }) => [
      [maxVolume, APY, endTime],
      [amount.baseMarginAmount, amount.xMarginAmount],
    ]),
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

/** The settlement of a state that `set()` makes lacks what is not changed. */
function callsForSettlement(
  { settlement }: { readonly settlement: Partial<ScriptedSettlement> },
  { settlement: changed = {} }: StateChanges,
): readonly ScriptCall[] {
  const { settledPrice, settledAmount, notBeforeEnd, needsPrice, reward } =
    settlement;
  const isFirst =
    changed.settledPrice === undefined && changed.settledAmount === undefined;
  if ((settledPrice === undefined) !== (settledAmount === undefined)) {
    throw invalidArgument(
      "settlement",
      "settledPrice and settledAmount are needed together",
    );
  }
  const { token = ZeroAddress, amount } = reward ?? { amount: 0n };
  const setters: ReadonlyArray<readonly [setter: string, ...unknown[]]> = [
    [
      isFirst ? "setFirstSettlement" : "setSettlement",
      settledPrice,
      settledAmount,
    ],
    ["setNotBeforeEnd", notBeforeEnd],
    ["setNeedsPrice", needsPrice],
    ["setReward", token, reward === undefined ? undefined : amount],
  ];
  return setters
    .filter(([, ...values]) => !values.includes(undefined))
    .map(([setter, ...values]) => call("vault", setter, ...values));
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

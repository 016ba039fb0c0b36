import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { ZeroAddress, id as hashText } from "ethers";
import { z } from "zod";

import { parseEnum, parseUint256 } from "../client/inputs.js";
import { assertInvariant, invalidArgument } from "../errors.js";
import type { Schema } from "../files/recorded-values.js";
import { asRecord } from "../json.js";
import {
  get,
  operationEntry,
  operations,
  set,
  standaloneQueries,
} from "../protocol/index.js";
import type {
  CalMarginsParameters,
  Query,
  VaultOrder,
} from "../protocol/index.js";
import { callsForFailure, checkFailure } from "./failure.js";
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
import {
  answerSchema,
  objectOf,
  parse,
  placed,
  requireOneOf,
  valueOf,
  valuesOf,
} from "./values.js";
import type { Shape } from "./values.js";

const margins: Query = {
  operation: "calMargins",
  role: "vault",
  args: [{ maxVolume: 0n, APY: 0n, endTime: 0n }],
  path: ["margins"],
};

/** The readings that mocks return for any arguments; margins can depend on them. */
const answers: readonly Query[] = [...standaloneQueries, margins];

/** In the order of `UnknownOrders` in MockTrading.sol. */
const unknownAnswers: readonly UnknownOrders[] = ["zeros", "revert", "invalid"];

const { getLatestRoundInfo, calMargins } = operations;
const terms = valuesOf(calMargins.inputs);
const amounts = valuesOf(calMargins.outputs);
const uint256 = valueOf({ type: "uint256", unit: "none" });
const flag = valueOf({ type: "bool", unit: "none" });
const address = valueOf({ type: "address", unit: "none" });

/** A round without the values that a settlement writes. */
export const nextRoundSchema = objectOf(
  {},
  valuesOf(
    getLatestRoundInfo.outputs.filter(
      ({ name }) => !name.startsWith("settled"),
    ),
  ),
);

const someAmounts: Schema = objectOf({}, amounts);
const marginsByTerms: Schema = z.array(objectOf(amounts, terms));

const settlementSchema = objectOf(
  {},
  {
    settledPrice: uint256,
    settledAmount: uint256,
    notBeforeEnd: flag,
    needsPrice: flag,
    reward: objectOf({ amount: uint256 }, { token: address }).nullable(),
  },
);

const changesSchema = objectOf(
  {},
  {
    ...readingSchemas(),
    margins: placed((given, place) =>
      parse(Array.isArray(given) ? marginsByTerms : someAmounts, given, place),
    ),
    orders: z.record(
      z.string().transform((key) => String(parseOrderKey(key))),
      answerSchema("getOrderInfo", false).nullable(),
    ),
    generatedOrders: objectOf({ firstId: uint256, lastId: uint256 }).nullable(),
    unknownOrders: placed((given, place) =>
      requireOneOf(unknownAnswers, given, place),
    ),
    settlement: settlementSchema,
    failures: z.array(placed(checkFailure), { message: "a list is needed" }),
  },
);

/** The schemas of answers by key; an object may have some of its values. */
function readingSchemas(): Shape {
  const variants: Record<string, Shape> = {};
  const readings: Shape = {};
  for (const { operation, path } of standaloneQueries) {
    const answer = answerSchema(operation, false);
    const [key, variant] = path;
    if (variant === undefined) {
      readings[key] = answer;
    } else {
      variants[key] = { ...variants[key], [variant]: answer };
      readings[key] = objectOf({}, variants[key]);
    }
  }
  return readings;
}

/** Checked changes to a state. */
export type StateChanges = Omit<MockOverrides, "orders" | "generatedOrders"> & {
  readonly generatedOrders?: MockState["generatedOrders"];
  /** By id; null for an order that is removed. */
  readonly orders?: Readonly<Record<string, Partial<VaultOrder> | null>>;
};

/** Refuses unknown keys, and values that a contract cannot hold. */
export function checkChanges(overrides: unknown): StateChanges {
  return parse(changesSchema, overrides, "");
}

/** Checks arguments of `calMargins`. */
export function checkTerms(
  given: unknown,
  where: string,
): CalMarginsParameters {
  const checked: unknown = parse(objectOf(terms), given, where);
  // each value was checked to be there, and to be of the type that its field has
  return checked as CalMarginsParameters;
}

/** Takes one spelling only: two keys for one order would overwrite each other. */
export function parseOrderKey(key: string): bigint {
  return parseUint256(
    /^(?:0|[1-9][0-9]*)$/u.test(key) ? BigInt(key) : key,
    "An order's id",
  );
}

/**
 * Completes answers and orders that are changed in part.
 *
 * @param current Finds what the mocks return now; undefined or null for nothing.
 */
export async function completeChanges(
  changes: StateChanges,
  current: (query: Query) => unknown,
): Promise<StateChanges> {
  const whole: Record<string, unknown> = { ...changes };
  const orders = Object.keys(changes.orders ?? {}).map((key): Query => ({
    operation: "getOrderInfo",
    role: "trading",
    args: [BigInt(key)],
    path: ["orders", key],
  }));
  for (const query of [...answers, ...orders]) {
    const given = get(changes, query.path);
    const { outputs } = operationEntry(query.operation);
    if (isObject(given) && Object.keys(given).length < outputs.length) {
      const standard = query.operation === "getOrderInfo" ? someOrder : {};
      const before = asRecord(await current(query));
      set(whole, query.path, { ...standard, ...before, ...given });
    }
  }
  return whole;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns The state with changes, which may name some values of an answer or an order. */
export async function applyChanges(
  state: MockState,
  changes: StateChanges,
): Promise<MockState> {
  const whole = await completeChanges(changes, ({ path }) => get(state, path));
  const changed: Record<string, unknown> = {
    ...state,
    ...whole,
    orders: { ...state.orders, ...whole.orders },
    settlement: { ...state.settlement, ...whole.settlement },
  };
  for (const { path } of answers) {
    set(changed, path, get(whole, path) ?? get(state, path));
  }
  // the state with values that were checked to be of its fields
  return changed as unknown as MockState;
}

/**
 * Returns the calls that set the values of a state, or of changes.
 *
 * @param isFirst True for the settlement of a scenario: it is one of the first round only.
 */
export function callsFor(
  changes: StateChanges | MockState,
  isFirst = false,
): readonly ScriptCall[] {
  const { orders = {}, generatedOrders: range, unknownOrders } = changes;
  const { settlement = {}, failures = [] } = changes;
  // A range that ends before it begins is empty.
  const { firstId, lastId } = range ?? { firstId: 1n, lastId: 0n };
  return [
    ...answers.flatMap((query) => {
      const answer = get(changes, query.path);
      return answer === undefined ? [] : setAnswer(query, answer);
    }),
    ...(unknownOrders === undefined
      ? []
      : [
          call(
            "trading",
            "setUnknownOrders",
            unknownAnswers.indexOf(unknownOrders),
          ),
        ]),
    ...(range === undefined
      ? []
      : [call("trading", "generateOrders", firstId, lastId)]),
    ...Object.entries(orders).map(([id, order]) => setOrder(BigInt(id), order)),
    ...setSettlement(settlement, isFirst),
    ...failures.flatMap((failure) => callsForFailure(failure)),
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

function setOrder(
  orderID: bigint,
  order: Partial<VaultOrder> | null,
): ScriptCall {
  return order === null
    ? call("trading", "removeOrder", orderID)
    : call("trading", "setOrder", orderID, {
        ...order,
        // A lone surrogate becomes U+FFFD; ethers would throw.
        exType: new TextEncoder().encode(order.exType ?? ""),
      });
}

function setSettlement(
  { settledPrice, settledAmount, ...others }: Partial<ScriptedSettlement>,
  isFirst: boolean,
): readonly ScriptCall[] {
  if ((settledPrice === undefined) !== (settledAmount === undefined)) {
    throw invalidArgument(
      "settlement",
      "settledPrice and settledAmount are needed together",
    );
  }
  const { notBeforeEnd, needsPrice, reward } = others;
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

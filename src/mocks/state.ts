import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { ZeroAddress, id as hashText } from "ethers";
import { z } from "zod";

import {
  checkKeys,
  describeInput,
  parseAddress,
  parseEnum,
  parseUint,
  readInteger,
  requireOneOf,
} from "../client/inputs.js";
import { assertInvariant, invalidArgument } from "../errors.js";
import type { Schema } from "../files/project-file.js";
import { asRecord } from "../json.js";
import {
  get,
  isEnumName,
  operationEntry,
  operations,
  set,
  standaloneQueries,
} from "../protocol/index.js";
import type {
  ContractRole,
  Field,
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
  UnknownOrders,
} from "./types.js";

export type CheckedField = Pick<Field, "type" | "unit">;

/**
 * Checks a value of an operation, from the API or as text of a file or a command.
 *
 * @param where Names the value in errors.
 */
export function checkValue(
  { type, unit }: CheckedField,
  value: unknown,
  where: string,
): unknown {
  const number =
    typeof value === "string" ? (readInteger(value) ?? value) : value;
  switch (type) {
    case "uint256":
      return parseUint(number, where);
    case "uint8":
      // A contract may return an unlisted number.
      return isEnumName(unit) && typeof number === "string"
        ? parseEnum(unit, value, where)
        : Number(parseUint(number, where, 8));
    case "address":
      return parseAddress(value, where);
    case "bool":
      return requireOneOf(["true", "false"], String(value), where) === "true";
    case "string":
      if (typeof value !== "string") {
        throw invalidArgument(
          where,
          `a text is needed, got ${describeInput(value)}`,
        );
      }
      return value;
  }
}

/** Of an object's values, by their names. */
type Schemas = Readonly<Record<string, Schema>>;
type Shape = Readonly<Record<string, Schema | Schemas>>;

/** @param check Throws the error of a value, which names its place, as `margins[0].APY`. */
function checkedBy(check: (given: unknown, place: string) => unknown): Schema {
  return z.unknown().transform((given, { path }) => {
    const place = path
      .map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`))
      .join("")
      .slice(1);
    if (given === undefined) {
      throw invalidArgument(place, "it is missing");
    }
    return check(given, place === "" ? "The changes to the mocks" : place);
  });
}

function valueOf(field: CheckedField): Schema {
  return checkedBy((given, place) => checkValue(field, given, place));
}

function valuesOf(fields: readonly Field[]): Schemas {
  return Object.fromEntries(
    fields.map((field) => [field.name, valueOf(field)]),
  );
}

/** A misspelt key, which would change nothing, is refused; undefined values are left out. */
function objectOf(optional: Shape, required: Schemas = {}): Schema {
  const shape: Record<string, Schema> = { ...required };
  for (const [name, field] of Object.entries(optional)) {
    const schema = field instanceof z.ZodType ? field : objectOf(field);
    shape[name] = schema.optional();
  }
  const names = Object.keys(shape);
  return checkedBy((given, place) =>
    definedIn(checkKeys(place, given, "field", names), names),
  ).pipe(z.object(shape));
}

function definedIn(values: object, names: readonly string[]): object {
  return Object.fromEntries(
    names
      .map((name) => [name, asRecord(values)[name]] as const)
      .filter(([, value]) => value !== undefined),
  );
}

export function checkList(given: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(given)) {
    throw invalidArgument(place, "a list is needed");
  }
  return given;
}

const readings: Record<string, Schema | Schemas> = {};
for (const { operation, path } of standaloneQueries) {
  const { outputs } = operationEntry(operation);
  const [only, ...others] = outputs;
  const isOne = only !== undefined && others.length === 0;
  // An answer with several values may have some of them.
  set(readings, path, isOne ? valueOf(only) : objectOf(valuesOf(outputs)));
}

const { getLatestRoundInfo, getOrderInfo, calMargins } = operations;
const terms = valuesOf(calMargins.inputs);
const amounts = valuesOf(calMargins.outputs);
const uint256 = valueOf({ type: "uint256", unit: "none" });
const flag = valueOf({ type: "bool", unit: "none" });
const address = valueOf({ type: "address", unit: "none" });

/** A round without the values that a settlement writes. */
export const nextRound: Schema = objectOf(
  valuesOf(
    getLatestRoundInfo.outputs.filter(
      ({ name }) => !name.startsWith("settled"),
    ),
  ),
);

/** The arguments of `calMargins`. */
export const marginTerms: Schema = objectOf({}, terms);

/** In the order of `UnknownOrders` in MockTrading.sol. */
const unknownAnswers: readonly UnknownOrders[] = ["zeros", "revert", "invalid"];

const stateChanges = objectOf({
  ...readings,
  margins: z.array(objectOf(terms, amounts)).or(objectOf(amounts)),
  orders: checkedBy((given) => {
    const ids = orderQueries(given).map(({ path }) => String(path[1]));
    return definedIn(asRecord(given), ids);
  }).pipe(z.record(objectOf(valuesOf(getOrderInfo.outputs)).nullable())),
  generatedOrders: objectOf(
    {},
    { firstId: uint256, lastId: uint256 },
  ).nullable(),
  unknownOrders: checkedBy((given, place) =>
    requireOneOf(unknownAnswers, given, place),
  ),
  settlement: objectOf({
    settledPrice: uint256,
    settledAmount: uint256,
    notBeforeEnd: flag,
    needsPrice: flag,
    reward: objectOf({ token: address }, { amount: uint256 }).nullable(),
  }),
  failures: checkedBy(checkList).pipe(z.array(checkedBy(checkFailure))),
});

/** Checked changes to a state. */
export type StateChanges = Omit<MockOverrides, "orders" | "generatedOrders"> & {
  readonly generatedOrders?: MockState["generatedOrders"];
  /** By id; null for an order that is removed. */
  readonly orders?: Readonly<Record<string, Partial<VaultOrder> | null>>;
};

/** Refuses unknown keys, and values that a contract cannot hold. */
export function checkChanges(overrides: unknown = {}): StateChanges {
  // each value was checked to be of the type that its field has
  return stateChanges.parse(overrides) as StateChanges;
}

/** The readings of the orders in an object that has them by their ids. */
export function orderQueries(orders: unknown): readonly Query[] {
  if (!isObject(orders)) {
    throw invalidArgument("orders", "an object with orders by id is needed");
  }
  return Object.keys(orders).map((key) => {
    // Only one spelling: two keys for one order would overwrite each other.
    const isCanonical = /^(?:0|[1-9][0-9]*)$/u.test(key);
    const id = parseUint(isCanonical ? BigInt(key) : key, "An order's id");
    const path = ["orders", key] as const;
    return { operation: "getOrderInfo", role: "trading", args: [id], path };
  });
}

/** The readings that mocks return for any arguments; margins can depend on them. */
const answers: readonly Query[] = [
  ...standaloneQueries,
  {
    operation: "calMargins",
    role: "vault",
    args: [{ maxVolume: 0n, APY: 0n, endTime: 0n }],
    path: ["margins"],
  },
];

/** @returns The answers and the orders that changes name in part, whose other values stay. */
export function partlyChanged(changes: StateChanges): readonly Query[] {
  const orders = orderQueries(changes.orders ?? {});
  return [...answers, ...orders].filter(({ operation, path }) => {
    const given = get(changes, path);
    const { outputs } = operationEntry(operation);
    return isObject(given) && Object.keys(given).length < outputs.length;
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
  const {
    generatedOrders,
    unknownOrders,
    orders = {},
    failures = [],
  } = changes;
  // A range that ends before it begins is empty.
  const generated =
    generatedOrders === null ? { firstId: 1n, lastId: 0n } : generatedOrders;
  const {
    settledPrice,
    settledAmount,
    notBeforeEnd,
    needsPrice,
    reward: paid,
  } = changes.settlement ?? {};
  if ((settledPrice === undefined) !== (settledAmount === undefined)) {
    throw invalidArgument(
      "settlement",
      "settledPrice and settledAmount are needed together",
    );
  }
  const unknown =
    unknownOrders === undefined
      ? undefined
      : unknownAnswers.indexOf(unknownOrders);
  const token = paid?.token ?? ZeroAddress;
  const amount = paid === null ? 0n : paid?.amount;
  const settle = isFirst ? "setFirstSettlement" : "setSettlement";
  const setters: ReadonlyArray<[ContractRole, string, ...unknown[]]> = [
    ["trading", "setUnknownOrders", unknown],
    ["trading", "generateOrders", generated?.firstId, generated?.lastId],
    ["vault", settle, settledPrice, settledAmount],
    ["vault", "setNotBeforeEnd", notBeforeEnd],
    ["vault", "setNeedsPrice", needsPrice],
    ["vault", "setReward", token, amount],
  ];
  return [
    ...answers.flatMap((query) => setAnswer(query, get(changes, query.path))),
    ...setters
      .filter(([, , ...values]) => !values.includes(undefined))
      .map((setter) => call(...setter)),
    ...Object.entries(orders).map(([id, order]) => setOrder(BigInt(id), order)),
    ...failures.flatMap((failure) => callsForFailure(failure)),
  ];
}

/** Sets an operation's answer: the contract type, if it takes one, then its values. */
function setAnswer(
  { operation, role, args, path }: Query,
  answer: unknown,
): readonly ScriptCall[] {
  if (answer === undefined) {
    return [];
  }
  if (Array.isArray(answer)) {
    return [setMarginsOfTerms(answer)];
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
    return [call(role, setter, answer)];
  }
  const chosen = inputs.some(({ unit }) => unit === "contractType")
    ? args.map((word) => parseEnum("contractType", word, "contractType"))
    : [];
  return [call(role, setter, ...chosen, ...values)];
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
  if (order === null) {
    return call("trading", "removeOrder", orderID);
  }
  const whole = { ...someOrder, ...order };
  // A lone surrogate becomes U+FFFD; ethers would throw.
  const exType = new TextEncoder().encode(whole.exType);
  return call("trading", "setOrder", orderID, { ...whole, exType });
}

import { id } from "ethers";
import type { Interface } from "ethers";

import { MockLiquidityPool__factory } from "../bindings/factories/MockLiquidityPool__factory.js";
import { MockTrading__factory } from "../bindings/factories/MockTrading__factory.js";
import { MockUnderlyingAsset__factory } from "../bindings/factories/MockUnderlyingAsset__factory.js";
import { MockVaultFactory__factory } from "../bindings/factories/MockVaultFactory__factory.js";
import { MockVault__factory } from "../bindings/factories/MockVault__factory.js";
import { parseContractType } from "../client/inputs.js";
import { assertInvariant } from "../errors.js";
import {
  contractRoleNames,
  operationEntry,
  wireName,
  readingAt,
  targetsOf,
} from "../protocol/index.js";
import type {
  ContractRole,
  OperationName,
  PoolName,
  ReadOperationName,
  Reading,
} from "../protocol/index.js";
import type { MockTransaction } from "./mock-sender.js";
import { encodeRevertData } from "./failure.js";
import { PROPORTIONAL, answers } from "./state.js";
import type {
  MockOrder,
  MockOverrides,
  MockState,
  NextRound,
  ScriptedFailure,
  ScriptedSettlement,
} from "./types.js";

/** The factory of each role's mock. */
export const mockFactories = {
  underlyingAsset: MockUnderlyingAsset__factory,
  publicPool: MockLiquidityPool__factory,
  privatePool: MockLiquidityPool__factory,
  trading: MockTrading__factory,
  vaultFactory: MockVaultFactory__factory,
  vault: MockVault__factory,
} as const satisfies Record<ContractRole, unknown>;

/** Addresses of the six mocks. */
export type MockAddresses = Readonly<Record<ContractRole, `0x${string}`>>;

/** The address of every role, found one by one. */
export async function addressesByRole(
  locate: (role: ContractRole) => string | Promise<string>,
): Promise<MockAddresses> {
  const located = await Promise.all(
    contractRoleNames.map(async (role) => [role, await locate(role)] as const),
  );
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
  return Object.fromEntries(located) as MockAddresses;
}

/** One call of a script: which mock, and what it is told. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

const interfaces = new Map<ContractRole, Interface>(
  contractRoleNames.map((role) => [
    role,
    mockFactories[role].createInterface(),
  ]),
);

function interfaceOf(role: ContractRole): Interface {
  const found = interfaces.get(role);
  assertInvariant(found !== undefined, `no mock of ${role}`);
  return found;
}

/**
 * Calls that were made before: fixtures put mocks into the same few states again
 * and again, and encoding them takes longer than the chain does.
 */
const encodedCalls = new Map<string, string>();
const MOST_ENCODED_CALLS = 500;

/** A call of one of the mock's own functions. */
function call(
  role: ContractRole,
  setter: string,
  ...args: readonly unknown[]
): ScriptCall {
  const key = JSON.stringify([role, setter, args], (_key, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
  let data = encodedCalls.get(key);
  if (data === undefined) {
    data = interfaceOf(role).encodeFunctionData(setter, [...args]);
    if (encodedCalls.size === MOST_ENCODED_CALLS) {
      encodedCalls.clear();
    }
    encodedCalls.set(key, data);
  }
  return { role, data };
}

/**
 * The mock's function that sets what an operation answers: named after the
 * function that answers, or after the value.
 */
function setterOf(role: ContractRole, operation: ReadOperationName): string {
  const names = [
    wireName(operation).replace(/^(?:get|query|cal)/u, ""),
    operationEntry(operation).key,
  ].map((name) => `set${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  const found = names.find((name) => interfaceOf(role).hasFunction(name));
  assertInvariant(found !== undefined, `no mock answers ${operation}`);
  return found;
}

/**
 * Sets one of the {@link answers}: its values in their order, after the
 * contract type where the operation takes one.
 */
export function setAnswer(
  { operation, role, args }: Reading,
  answer: unknown,
): ScriptCall {
  const setter = setterOf(role, operation);
  const { inputs, outputs } = operationEntry(operation);
  const chosen = inputs.some(({ unit }) => unit === "contractType")
    ? args.map((word) => parseContractType(word, "contractType"))
    : [];
  const values =
    outputs.length === 1
      ? [answer]
      : outputs.map(({ name }): unknown => Reflect.get(Object(answer), name));
  const [first] = interfaceOf(role).getFunction(setter)?.inputs ?? [];
  return call(
    role,
    setter,
    ...(first?.baseType === "tuple" ? [values] : [...chosen, ...values]),
  );
}

export const calls = {
  reset: (role: ContractRole) => call(role, "reset"),
  orders: (orders: ReadonlyMap<bigint, MockOrder>) =>
    call(
      "trading",
      "setOrders",
      [...orders.keys()],
      [...orders.values()].map((order) => ({
        ...order,
        exType:
          typeof order.exType === "string"
            ? // A lone surrogate becomes U+FFFD; ethers would throw.
              new TextEncoder().encode(order.exType)
            : order.exType,
      })),
    ),
  orderBook: (book: string) => call("trading", "setOrderBook", book),
  removeOrder: (orderID: bigint) => call("trading", "removeOrder", orderID),
  generateOrders: (firstId: bigint, lastId: bigint) =>
    call("trading", "generateOrders", firstId, lastId),
  missingOrdersRevert: (reverts: boolean) =>
    call("trading", "setMissingOrdersRevert", reverts),
  uncapturedOrdersRevert: (reverts: boolean) =>
    call("trading", "setUncapturedOrdersRevert", reverts),
  marginsProportional: (proportional: boolean) =>
    call("vault", "setMarginsProportional", proportional),
  startNextRound: (round: NextRound) =>
    call("vaultFactory", "startNextRound", round),
  factory: (address: string) => call("vault", "setFactory", address),
  settlement: (
    { settledPrice, settledAmount }: ScriptedSettlement,
    forAllRounds: boolean,
  ) =>
    call(
      "vault",
      forAllRounds ? "setSettlement" : "setFirstSettlement",
      settledPrice,
      settledAmount,
    ),
  fail: ({ operation, pool, reason }: ScriptedFailure) =>
    rolesOf(operation, pool).map((role) =>
      call(
        role,
        "setRevert",
        operationEntry(operation).selector,
        encodeRevertData(reason),
      ),
    ),
  succeed: (operation: OperationName, pool?: PoolName) =>
    rolesOf(operation, pool).map((role) =>
      call(role, "clearRevert", operationEntry(operation).selector),
    ),
} as const satisfies Record<
  string,
  (...args: never) => ScriptCall | ScriptCall[]
>;

/** The contracts that have an operation, or the one that is named. */
function rolesOf(
  operation: OperationName,
  name: PoolName | undefined,
): ContractRole[] {
  return targetsOf(operation)
    .filter(({ variant }) => name === undefined || variant === name)
    .map(({ role }) => role);
}

/** How many orders one call sets: about 300,000 gas each. */
const ORDERS_PER_CALL = 20;

/** Sets and removes orders, in calls small enough to share a transaction. */
export function callsForOrders(orders: MockState["orders"]): ScriptCall[] {
  const set: Array<[bigint, MockOrder]> = [];
  const removed: bigint[] = [];
  for (const [orderID, order] of orders) {
    if (order === null) {
      removed.push(orderID);
    } else {
      set.push([orderID, order]);
    }
  }
  const chunks: ScriptCall[] = [];
  for (let at = 0; at < set.length; at += ORDERS_PER_CALL) {
    chunks.push(calls.orders(new Map(set.slice(at, at + ORDERS_PER_CALL))));
  }
  return [...chunks, ...removed.map(calls.removeOrder)];
}

/** The calls that bring fresh mocks into a state. */
export function callsForState(
  state: MockState,
  { vaultFactory }: MockAddresses,
): ScriptCall[] {
  // What is off or none is so in a fresh mock.
  const isOff = new Set<unknown>([undefined, null, false]);
  return [
    calls.factory(vaultFactory),
    ...callsFor(state, (path) => !isOff.has(readingAt(state, [path[0]]))),
  ];
}

/** The calls for what the changes name, as it is in the changed state. */
export function callsForChanges(
  state: MockState,
  changes: MockOverrides,
): ScriptCall[] {
  return callsFor(state, (path) => {
    const [key] = path;
    const named = readingAt(changes, path);
    return key === "marginsProportional"
      ? changes.margins !== undefined
      : key === "orders" || (named !== undefined && named !== PROPORTIONAL);
  });
}

/** What of a state is on or off, and how that is set. */
const switches = [
  ["marginsProportional", calls.marginsProportional],
  ["missingOrdersRevert", calls.missingOrdersRevert],
  ["uncapturedOrdersRevert", calls.uncapturedOrdersRevert],
] as const;

function callsFor(
  state: MockState,
  isNamed: (path: Reading["path"]) => boolean,
): ScriptCall[] {
  const { generatedOrders: range, orders, settlement, failures } = state;
  const when = (
    key: keyof MockState,
    some: () => ScriptCall[],
  ): ScriptCall[] => (isNamed([key]) ? some() : []);
  return [
    ...answers
      .filter(({ path }) => isNamed(path))
      .map((answer) => setAnswer(answer, readingAt(state, answer.path))),
    ...switches.flatMap(([key, set]) =>
      when(key, () => [set(state[key] ?? false)]),
    ),
    ...when("orders", () => callsForOrders(orders)),
    ...when("generatedOrders", () => [
      // A range that ends before it begins is empty.
      calls.generateOrders(range?.firstId ?? 1n, range?.lastId ?? 0n),
    ]),
    ...when("settlement", () => [
      calls.settlement(settlement, state.settlementScripted ?? false),
    ]),
    ...when("failures", () => failures.flatMap(calls.fail)),
  ];
}

/**
 * How much call data one transaction takes. A word of it is at most one word
 * of storage, about 23,000 gas, and a transaction has at most 16.7 million.
 */
const BYTES_PER_TRANSACTION = 500 * 32;

/** The transactions that make the calls, in order and as few as fit. */
export function encodeScript(
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): MockTransaction[] {
  const batches: ScriptCall[][] = [];
  let room = 0;
  for (const next of script) {
    const size = (next.data.length - 2) / 2;
    const last = batches.at(-1);
    if (last === undefined || size > room) {
      batches.push([next]);
      room = BYTES_PER_TRANSACTION - size;
    } else {
      last.push(next);
      room -= size;
    }
  }
  return batches.map((batch) => encodeBatch(addresses, batch));
}

/** Any mock runs a script for all of them: here, the first that is called. */
function encodeBatch(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): MockTransaction {
  const [first] = batch;
  assertInvariant(first !== undefined, "an empty batch of a script");
  return {
    to: addresses[first.role],
    data: batch.length === 1 ? first.data : encodeCalls(addresses, batch),
  };
}

const SCRIPT_SELECTOR = id("script((address,bytes)[])").slice(0, 10);

/**
 * `script(Call[])`, as ethers would encode it: of the time that `deployMocks()`
 * takes in process, that would be a quarter.
 */
function encodeCalls(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): string {
  let offsets = "";
  let tuples = "";
  for (const { role, data } of batch) {
    const digits = data.slice(2);
    offsets += hexWord(32 * batch.length + tuples.length / 2);
    tuples += addresses[role].slice(2).toLowerCase().padStart(64, "0");
    tuples += hexWord(64) + hexWord(digits.length / 2);
    tuples += digits.padEnd(Math.ceil(digits.length / 64) * 64, "0");
  }
  return `${SCRIPT_SELECTOR}${hexWord(32)}${hexWord(batch.length)}${offsets}${tuples}`;
}

/** A word of the wire, as 64 digits. */
export function hexWord(value: number | bigint): string {
  return value.toString(16).padStart(64, "0");
}

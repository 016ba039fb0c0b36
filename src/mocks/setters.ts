import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { Interface, id } from "ethers";

import { parseEnum } from "../client/inputs.js";
import { hexWord } from "../client/lens/words.js";
import { assertInvariant } from "../errors.js";
import {
  byRole,
  operationEntry,
  wireName,
  get,
  targetsOf,
} from "../protocol/index.js";
import type {
  ContractRole,
  ReadOperationName,
  Query,
} from "../protocol/index.js";
import { encodeRevertData } from "./failure.js";
import { mockArtifacts } from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import type { MockTransaction } from "./mock-sender.js";
import { answers } from "./state.js";
import type {
  CheckedOrder,
  MockOverrides,
  MockState,
  ScriptedFailure,
  ScriptedReason,
} from "./types.js";

/** One call of a script: which mock, and what it is told. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

/** The interface of each role's mock. */
export const mockInterfaces = byRole(
  (role) => new Interface(mockArtifacts[role].abi),
);

/** Fixtures encode the same calls over and over, which is slower than the chain. */
const encodedCalls = new Map<string, string>();
const MOST_ENCODED_CALLS = 500;

/** A call of one of the mock's own functions. */
export function call(
  role: ContractRole,
  setter: string,
  ...args: readonly unknown[]
): ScriptCall {
  const key = JSON.stringify([role, setter, args], (_key, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
  let data = encodedCalls.get(key);
  if (data === undefined) {
    data = mockInterfaces[role].encodeFunctionData(setter, [...args]);
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
  const found = [
    wireName(operation).replace(/^(?:get|query|cal)/u, ""),
    operationEntry(operation).key,
  ]
    .map((name) => `set${capitalize(name)}`)
    .find((name) => mockInterfaces[role].hasFunction(name));
  assertInvariant(found !== undefined, `no mock answers ${operation}`);
  return found;
}

/**
 * Sets one of the {@link answers}: its values in their order, after the
 * contract type where the operation takes one.
 */
function setAnswer(
  { operation, role, args }: Query,
  answer: unknown,
): ScriptCall {
  const setter = setterOf(role, operation);
  const { inputs, outputs } = operationEntry(operation);
  const chosen = inputs.some(({ unit }) => unit === "contractType")
    ? args.map((word) => parseEnum("contractType", word, "contractType"))
    : [];
  const values =
    outputs.length === 1
      ? [answer]
      : outputs.map(({ name }): unknown => Reflect.get(Object(answer), name));
  const [first] = mockInterfaces[role].getFunction(setter)?.inputs ?? [];
  return call(
    role,
    setter,
    ...(first?.baseType === "tuple" ? [values] : [...chosen, ...values]),
  );
}

/** Makes an operation revert, or succeed again where the reason is null. */
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

/** How many orders one call sets: about 300,000 gas each. */
const ORDERS_PER_CALL = 20;

/** Sets and removes orders, in calls small enough to share a transaction. */
export function callsForOrders(orders: MockState["orders"]): ScriptCall[] {
  const set: Array<[bigint, object]> = [];
  const removals: ScriptCall[] = [];
  for (const [orderID, order] of orders) {
    if (order === null) {
      removals.push(call("trading", "removeOrder", orderID));
    } else {
      set.push([orderID, { ...order, exType: exTypeBytes(order) }]);
    }
  }
  const settings: ScriptCall[] = [];
  for (let at = 0; at < set.length; at += ORDERS_PER_CALL) {
    const chunk = set.slice(at, at + ORDERS_PER_CALL);
    settings.push(
      call(
        "trading",
        "setOrders",
        chunk.map(([orderID]) => orderID),
        chunk.map(([, order]) => order),
      ),
    );
  }
  return [...settings, ...removals];
}

/** A lone surrogate becomes U+FFFD; ethers would throw. */
export function exTypeBytes({ exType }: CheckedOrder): Uint8Array {
  return typeof exType === "string" ? new TextEncoder().encode(exType) : exType;
}

/** The calls that bring fresh mocks into a state. */
export function callsForState(
  state: MockState,
  { vaultFactory }: MockAddresses,
): ScriptCall[] {
  // What is off or none is so in a fresh mock.
  const isOff = new Set<unknown>([undefined, null, false]);
  return [
    call("vault", "setFactory", vaultFactory),
    ...callsFor(state, (path) => !isOff.has(get(state, [path[0]]))),
  ];
}

/** The calls for what the changes name, as it is in the changed state. */
export function callsForChanges(
  state: MockState,
  changes: MockOverrides,
): ScriptCall[] {
  return callsFor(state, (path) => {
    const [key] = path;
    return key === "orders" || get(changes, path) !== undefined;
  });
}

function callsFor(
  state: MockState,
  isNamed: (path: Query["path"]) => boolean,
): ScriptCall[] {
  const { generatedOrders: range, orders, settlement, failures } = state;
  const when = (
    key: keyof MockState,
    some: () => ScriptCall[],
  ): ScriptCall[] => (isNamed([key]) ? some() : []);
  return [
    ...answers
      .filter(({ path }) => isNamed(path))
      .map((answer) => setAnswer(answer, get(state, answer.path))),
    ...when("missingOrdersRevert", () => [
      call("trading", "setMissingOrdersRevert", state.missingOrdersRevert),
    ]),
    ...when("orders", () => callsForOrders(orders)),
    ...when("generatedOrders", () => [
      // A range that ends before it begins is empty.
      call(
        "trading",
        "generateOrders",
        range?.firstId ?? 1n,
        range?.lastId ?? 0n,
      ),
    ]),
    ...when("settlement", () => [
      call(
        "vault",
        state.settlementScripted === true
          ? "setSettlement"
          : "setFirstSettlement",
        settlement.settledPrice,
        settlement.settledAmount,
      ),
    ]),
    ...when("failures", () => failures.flatMap(callsForFailure)),
  ];
}

/**
 * How much call data one transaction takes. A word of it is at most one word
 * of storage, about 23,000 gas, and a transaction has at most 16.7 million.
 */
const BYTES_PER_TRANSACTION = 500 * 32;

/** Calls in order, as few at a time as fit into a transaction. */
export function inBatches(
  script: readonly ScriptCall[],
): ReadonlyArray<readonly ScriptCall[]> {
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
  return batches;
}

const SCRIPT_SELECTOR = id("script((address,bytes)[])").slice(0, 10);

/** Encodes the transaction that makes the calls: any mock runs a script for all. */
export function encodeBatch(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): MockTransaction {
  const [first] = batch;
  assertInvariant(first !== undefined, "an empty batch of a script");
  const calls = batch.map(
    ({ role, data }) =>
      hexWord(addresses[role]) + hexWord(64) + encodeBytes(data.slice(2)),
  );
  return {
    to: addresses[first.role],
    data: `${SCRIPT_SELECTOR}${encodeList(calls)}`,
  };
}

/** Encodes hex digits as the ABI's bytes. */
export function encodeBytes(digits: string): string {
  const padded = Math.ceil(digits.length / 64) * 64;
  return hexWord(digits.length / 2) + digits.padEnd(padded, "0");
}

/** Encodes a list of encoded dynamic values; ethers takes twenty times as long. */
export function encodeList(items: readonly string[]): string {
  let offset = 32 * items.length;
  let offsets = "";
  for (const item of items) {
    offsets += hexWord(offset);
    offset += item.length / 2;
  }
  return `${hexWord(32)}${hexWord(items.length)}${offsets}${items.join("")}`;
}

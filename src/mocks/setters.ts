import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { Interface, id } from "ethers";

import { parseEnum } from "../client/inputs.js";
import { hexWord } from "../client/lens/words.js";
import type { VaultClient } from "../client/vault-client.js";
import { assertInvariant } from "../errors.js";
import { asRecord } from "../json.js";
import {
  byRole,
  get,
  operationEntry,
  targetsOf,
  wireName,
} from "../protocol/index.js";
import type {
  ContractRole,
  Query,
  ReadOperationName,
} from "../protocol/index.js";
import { encodeRevertData } from "./failure.js";
import { mockArtifacts } from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import { sendToMocks } from "./mock-sender.js";
import type { MockTransaction } from "./mock-sender.js";
import { answers } from "./state.js";
import type {
  CheckedOrder,
  MockOverrides,
  MockState,
  ScriptedFailure,
  ScriptedReason,
} from "./types.js";

/** One call of a script, to the mock of a role. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

/** The interface of each role's mock. */
export const mockInterfaces = byRole(
  (role) => new Interface(mockArtifacts[role].abi),
);

/** A call of one of the mock's own functions. */
export function call(
  role: ContractRole,
  setter: string,
  ...args: readonly unknown[]
): ScriptCall {
  return {
    role,
    data: mockInterfaces[role].encodeFunctionData(setter, [...args]),
  };
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
      : outputs.map(({ name }) => asRecord(answer)[name]);
  const [first] = mockInterfaces[role].getFunction(setter)?.inputs ?? [];
  return call(
    role,
    setter,
    ...(first?.baseType === "tuple" ? [values] : [...chosen, ...values]),
  );
}

/** Makes an operation revert, or succeed again if the reason is null. */
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

/** Sets orders, and removes those that are null. */
export function callsForOrders(orders: MockState["orders"]): ScriptCall[] {
  return [...orders].map(([orderID, order]) =>
    order === null
      ? call("trading", "removeOrder", orderID)
      : call("trading", "setOrder", orderID, {
          ...order,
          exType: exTypeBytes(order),
        }),
  );
}

/** A lone surrogate becomes U+FFFD; ethers would throw. */
export function exTypeBytes({ exType }: CheckedOrder): Uint8Array {
  return typeof exType === "string" ? new TextEncoder().encode(exType) : exType;
}

/** The calls that bring fresh mocks into a state. */
export function callsForState(
  state: MockState,
  overrides: MockOverrides,
  { vaultFactory }: MockAddresses,
): ScriptCall[] {
  // What is off or none is so in a fresh mock.
  const isOff = new Set<unknown>([undefined, null, false]);
  return [
    call("vault", "setFactory", vaultFactory),
    ...callsForChanges(
      state,
      overrides,
      ([key]) => !isOff.has(get(state, [key])),
    ),
  ];
}

/** The calls for what the changes name, as it is in the changed state. */
export function callsForChanges(
  state: MockState,
  changes: MockOverrides,
  isNamed = (path: Query["path"]): boolean => get(changes, path) !== undefined,
): ScriptCall[] {
  const { generatedOrders: range, settlement } = state;
  const calls: Partial<Record<keyof MockState, () => ScriptCall[]>> = {
    missingOrdersRevert: () => [
      call("trading", "setMissingOrdersRevert", state.missingOrdersRevert),
    ],
    orders: () => callsForOrders(state.orders),
    generatedOrders: () => [
      // A range that ends before it begins is empty.
      call(
        "trading",
        "generateOrders",
        range?.firstId ?? 1n,
        range?.lastId ?? 0n,
      ),
    ],
    settlement: () => [
      call(
        "vault",
        changes.settlement === undefined
          ? "setFirstSettlement"
          : "setSettlement",
        settlement.settledPrice,
        settlement.settledAmount,
      ),
    ],
    failures: () => state.failures.flatMap(callsForFailure),
  };
  return [
    ...answers
      .filter(({ path }) => isNamed(path))
      .map((answer) => setAnswer(answer, get(state, answer.path))),
    ...Object.entries(calls).flatMap(([key, some]) =>
      isNamed([key]) ? some() : [],
    ),
  ];
}

/**
 * How much call data one transaction takes. A word of it is at most one word
 * of storage, about 23,000 gas, and a transaction has at most 16.7 million.
 */
const BYTES_PER_TRANSACTION = 500 * 32;

const SCRIPT_SELECTOR = id("script((address,bytes)[])").slice(0, 10);

/**
 * Makes calls in order, in as few transactions as they fit into: any mock runs a
 * script for all.
 *
 * @throws VaultError as {@link sendToMocks} does
 */
export async function sendScript(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): Promise<void> {
  const transactions: MockTransaction[] = [];
  let batch: string[] = [];
  let room = BYTES_PER_TRANSACTION;
  for (const [index, { role, data }] of script.entries()) {
    batch.push(
      hexWord(addresses[role]) + hexWord(64) + encodeBytes(data.slice(2)),
    );
    room -= data.length / 2;
    const next = script[index + 1];
    if (next === undefined || next.data.length / 2 > room) {
      transactions.push({
        to: addresses[role],
        data: `${SCRIPT_SELECTOR}${encodeList(batch)}`,
      });
      batch = [];
      room = BYTES_PER_TRANSACTION;
    }
  }
  await sendToMocks(vault, transactions);
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

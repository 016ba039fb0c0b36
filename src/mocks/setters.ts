import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import { Interface } from "ethers";

import { parseEnum } from "../client/inputs.js";
import { assertInvariant } from "../errors.js";
import { asRecord } from "../json.js";
import {
  byRole,
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
import type { MockState, ScriptedFailure, ScriptedReason } from "./types.js";

/** One call of a script, to the mock of a role. */
export interface ScriptCall {
  readonly role: ContractRole;
  readonly data: string;
}

export const mockInterfaces = byRole(
  (role) => new Interface(mockArtifacts[role].abi),
);

export function call(
  role: ContractRole,
  setter: string,
  ...args: readonly unknown[]
): ScriptCall {
  const data = mockInterfaces[role].encodeFunctionData(setter, [...args]);
  return { role, data };
}

/**
 * Sets what an operation answers: its values in their order, after the contract
 * type if the operation takes one.
 */
export function setAnswer(
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

/** The mock's setter is named after the function that answers, or the value. */
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
          // A lone surrogate becomes U+FFFD; ethers would throw.
          exType: new TextEncoder().encode(order.exType),
        }),
  );
}

import { Interface, dataSlice, id, isHexString } from "ethers";

import { encodeCall } from "../client/codec.js";
import {
  checkKeys,
  describeInput,
  optional,
  parseAccount,
  requireOneOf,
} from "../client/inputs.js";
import type { AccountLike, OptionsOf } from "../client/inputs.js";
import { invalidArgument } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  operationEntry,
  operationNames,
  targetsOf,
} from "../protocol/index.js";
import type { CallArguments, OperationName } from "../protocol/index.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";

export const conditionOptions = {
  /**
   * The arguments that fail, those of the client's method: `["private"]` of
   * `getLPAmountInfo`, `[7n]` of `getOrderInfo`.
   */
  args: optional<CallArguments<OperationName>>(),
  /** The caller, `msg.sender` of the mock, that fails: an address or a signer. */
  from: optional<AccountLike>(),
};

/** The calls of an operation that fail. Default: every call. */
export interface FailureCondition extends OptionsOf<typeof conditionOptions> {}

/**
 * The reason of a revert:
 *
 * - a string: `Error(string)`, the error of `require(false, "…")`
 * - `panic`: `Panic(uint256)`; 0x11 is an arithmetic overflow
 * - `customError`: an error of the mocks by its name, or any other by its
 *   signature, for example `"Paused(address account)"`
 * - `data`: the revert data, 0x hex; `"0x"` is a revert without a reason
 */
export type ScriptedReason =
  | string
  | { readonly panic: bigint | number }
  | { readonly customError: string; readonly args?: readonly unknown[] }
  | { readonly data: string };

export interface ScriptedFailure extends FailureCondition {
  readonly operation: OperationName;
  readonly reason: ScriptedReason;
}

/**
 * Encodes the data that a mock reverts with, as 0x hex.
 *
 * @example
 * ```ts
 * encodeRevertData({ panic: 0x11 });
 * // '0x4e487b710000000000000000000000000000000000000000000000000000000000000011'
 * ```
 */
export function encodeRevertData(reason: ScriptedReason): string {
  const where = "The reason to revert";
  const { panic, data, customError, args } = asRecord(reason);
  if (data !== undefined && isHexString(data, true)) {
    return data;
  }
  let error = customError;
  let values = listOf(args);
  if (typeof reason === "string") {
    [error, values] = ["Error(string)", [reason]];
  } else if (panic !== undefined) {
    [error, values] = ["Panic(uint256)", [panic]];
  }
  if (typeof error !== "string") {
    throw invalidArgument(
      where,
      `a text, { panic }, { customError, args } or { data } as 0x hex is needed, got ${describeInput(data ?? reason)}`,
    );
  }
  try {
    const errors = error.includes("(")
      ? new Interface([`error ${error}`])
      : // every mock has the errors of all
        mockInterfaces.trading;
    const name = error.replace(/\(.*/su, "").trim();
    return errors.encodeErrorResult(name, [...values]);
  } catch (problem) {
    throw invalidArgument(
      where,
      `it cannot be encoded: ${describeInput(asRecord(problem)["message"])}; an error that is not one of the mocks needs its signature`,
    );
  }
}

/** `ANYBODY` of MockBase.sol. */
const ANYBODY = dataSlice(id("hardhat-vault/anybody"), 12);

/**
 * Returns the calls that make an operation fail.
 *
 * @param failure `reason`: null ends the failures with the same condition; without a
 * condition, all of the operation.
 */
export function callsForFailure({
  operation: name,
  args,
  from,
  reason,
}: FailureCondition & {
  readonly operation: OperationName;
  readonly reason: ScriptedReason | null;
}): ScriptCall[] {
  const operation = requireOneOf(operationNames, name, "operation");
  const { selector } = operationEntry(operation);
  const calls =
    args === undefined
      ? targetsOf(operation).map(({ role }) => ({ role, data: selector }))
      : [encodeCall(operation, args)];
  const caller = from === undefined ? ANYBODY : parseAccount(from, "from");
  return calls.map(({ role, data }) => {
    // As `MockBase.setRevertWhen` takes them.
    const condition = [selector, caller, dataSlice(data, 4)];
    if (reason !== null) {
      const revertData = encodeRevertData(reason);
      return call(role, "setRevertWhen", ...condition, revertData);
    }
    return data === selector && from === undefined
      ? call(role, "clearRevert", selector)
      : call(role, "clearRevertWhen", ...condition);
  });
}

/** Refuses a misspelt key; the values are checked when they are encoded. */
export function checkFailure(given: unknown, place: string): ScriptedFailure {
  const known = ["operation", "reason", ...Object.keys(conditionOptions)];
  // its names were checked
  return checkKeys(place, given, "field", known) as unknown as ScriptedFailure;
}

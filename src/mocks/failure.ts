import {
  AbiCoder,
  Interface,
  concat,
  dataSlice,
  id,
  isHexString,
} from "ethers";

import { encodeCall } from "../client/codec.js";
import { describeInput, notOneOf, parseAccount } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import { checkOptions, option } from "../client/options.js";
import type { OptionsOf } from "../client/options.js";
import { VaultError, invalidArgument } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import {
  operationEntry,
  operationNames,
  targetsOf,
} from "../protocol/index.js";
import type {
  CalMarginsParameters,
  OperationName,
  PoolName,
} from "../protocol/index.js";
import { ERROR_STRING_SELECTOR, PANIC_SELECTOR } from "../rpc/revert-reason.js";
import type { MockTradingArtifact } from "./artifacts.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { requireOneOf } from "./values.js";

export const conditionOptions = {
  /** Of `getLPAmountInfo`: the pool that fails. Default: both. */
  pool: option<PoolName>(),
  /** Of `getOrderInfo`: the order whose reading fails. */
  orderID: option<bigint | number>(),
  /** Of `calMargins`: the arguments that fail. */
  terms: option<CalMarginsParameters>(),
  /** The caller, `msg.sender` of the mock, that fails: an address or a signer. */
  from: option<AccountLike>(),
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
  | {
      readonly customError: MockErrorName | ErrorSignature;
      readonly args?: readonly unknown[];
    }
  | { readonly data: string };

export interface ScriptedFailure extends FailureCondition {
  readonly operation: OperationName;
  readonly reason: ScriptedReason;
}

/** An error of the mocks. The ABI of each mock has all of them. */
type MockErrorName = Extract<
  (typeof MockTradingArtifact.abi)[number],
  { readonly type: "error" }
>["name"];

/** Example: `Paused(address account)`. */
type ErrorSignature = `${string}(${string})`;

const REASON = "The reason to revert";

/**
 * Encodes the data that a mock reverts with, as 0x hex.
 *
 * @param where The place of the reason, for errors.
 *
 * @example
 * ```ts
 * encodeRevertData({ panic: 0x11 });
 * // '0x4e487b710000000000000000000000000000000000000000000000000000000000000011'
 * ```
 */
export function encodeRevertData(
  reason: ScriptedReason,
  where = REASON,
): string {
  const coder = AbiCoder.defaultAbiCoder();
  const invalid = (problem: string): VaultError =>
    invalidArgument(where, problem);
  try {
    if (typeof reason === "string") {
      // As bytes, which have the same encoding: ethers refuses a string with a
      // lone surrogate.
      const text = new TextEncoder().encode(reason);
      return concat([ERROR_STRING_SELECTOR, coder.encode(["bytes"], [text])]);
    }
    const { panic, data, customError, args } = asRecord(reason);
    if (panic !== undefined) {
      return concat([PANIC_SELECTOR, coder.encode(["uint256"], [panic])]);
    }
    if (typeof customError === "string") {
      const errors = customError.includes("(")
        ? new Interface([`error ${customError}`])
        : // every mock has the errors of all
          mockInterfaces.trading;
      const error = errors.getError(customError.replace(/\(.*/su, "").trim());
      if (error === null) {
        throw invalid(
          `the mocks have no error ${describeInput(customError)}; give the signature of another one, for example "Paused(address account)"`,
        );
      }
      return errors.encodeErrorResult(error, [...listOf(args)]);
    }
    if (data === undefined) {
      throw invalid(
        `a text, { panic }, { customError, args } or { data } is needed, got ${describeInput(reason)}`,
      );
    }
    if (!isHexString(data, true)) {
      throw invalid(`data is not 0x hex: ${describeInput(data)}`);
    }
    return data;
  } catch (error) {
    throw VaultError.isVaultError(error)
      ? error
      : invalid(
          `it cannot be encoded: ${describeInput(asRecord(error)["message"])}`,
        );
  }
}

type FailureTarget = Omit<ScriptedFailure, "reason">;

/** `ANYBODY` of MockBase.sol. */
export const ANYBODY = dataSlice(id("hardhat-vault/anybody"), 12);

/**
 * Refuses a misspelt operation, and a condition that no call of it meets.
 *
 * @param where Names the function in errors.
 * @param prefix Place of the values in errors.
 */
export function checkTarget(
  target: { operation: unknown } & FailureCondition,
  where: string,
  prefix = "",
): asserts target is FailureTarget {
  const { pool } = target;
  const operation = requireOneOf(
    operationNames,
    target.operation,
    `${prefix}operation`,
  );
  const pools = targetsOf(operation).flatMap(({ variant = [] }) => variant);
  if (pool !== undefined && !pools.some((known) => known === pool)) {
    throw pools.length === 0
      ? notOf(operation, where, "pool")
      : notOneOf(`${prefix}pool`, pools, pool);
  }
  for (const [condition, only] of [
    ["orderID", "getOrderInfo"],
    ["terms", "calMargins"],
  ] as const) {
    if (target[condition] !== undefined && operation !== only) {
      throw notOf(operation, where, condition);
    }
  }
  encodeCondition({ ...target, operation }, prefix);
}

function notOf(
  operation: string,
  where: string,
  condition: string,
): VaultError {
  return invalidArgument(where, `${operation} has no ${condition}`, "Omit it.");
}

/** The caller and the arguments, `0x` for any, as `MockBase.setRevertWhen` takes them. */
function encodeCondition(
  { operation, orderID, terms, from }: FailureTarget,
  prefix = "",
): readonly [from: string, args: string] {
  const given = [orderID, terms].filter((each) => each !== undefined);
  return [
    from === undefined ? ANYBODY : parseAccount(from, `${prefix}from`),
    given.length === 0 ? "0x" : dataSlice(encodeCall(operation, given).data, 4),
  ];
}

/**
 * Returns the calls that make an operation fail.
 *
 * @param target `reason`: null ends the failures with the same condition; without a
 * condition, all of the operation.
 */
export function callsForFailure({
  reason,
  ...target
}: FailureTarget & {
  readonly reason: ScriptedReason | null;
}): ScriptCall[] {
  const { operation, pool, orderID, terms, from } = target;
  const { selector } = operationEntry(operation);
  const condition = encodeCondition(target);
  const isConditional = [orderID, terms, from].some(
    (each) => each !== undefined,
  );
  return targetsOf(operation)
    .filter(({ variant }) => pool === undefined || variant === pool)
    .map(({ role }) =>
      reason !== null
        ? call(
            role,
            "setRevertWhen",
            selector,
            ...condition,
            encodeRevertData(reason),
          )
        : isConditional
          ? call(role, "clearRevertWhen", selector, ...condition)
          : call(role, "clearRevert", selector),
    );
}

export function checkFailures(given: unknown): readonly ScriptedFailure[] {
  if (!Array.isArray(given)) {
    throw invalidArgument("failures", "a list is needed");
  }
  return given.map((failure: ScriptedFailure, index) => {
    const place = `failures[${index}]`;
    const { operation: _, reason, ...conditions } = failure;
    checkOptions(place, conditions, conditionOptions);
    checkTarget(failure, place, `${place}.`);
    encodeRevertData(reason, `${place}.reason`);
    return failure;
  });
}

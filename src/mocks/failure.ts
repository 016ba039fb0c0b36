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

/** `ANYBODY` of MockBase.sol. */
export const ANYBODY = dataSlice(id("hardhat-vault/anybody"), 12);

/** The condition that an operation has, besides its caller. */
const conditionOf: { readonly [Name in OperationName]?: string } = {
  getLPAmountInfo: "pool",
  getOrderInfo: "orderID",
  calMargins: "terms",
};

/**
 * Returns the calls that make an operation fail. Refuses a misspelt operation, and a
 * condition that no call of it meets.
 *
 * @param failure `reason`: null ends the failures with the same condition; without a
 * condition, all of the operation.
 * @param place The place of each value in errors begins with it.
 */
export function callsForFailure(
  failure: Omit<ScriptedFailure, "reason"> & {
    readonly reason: ScriptedReason | null;
  },
  place = "",
): ScriptCall[] {
  const { reason, pool, orderID, terms, from } = failure;
  const operation = requireOneOf(
    operationNames,
    failure.operation,
    `${place}operation`,
  );
  for (const [name, value] of Object.entries({ pool, orderID, terms })) {
    if (value !== undefined && conditionOf[operation] !== name) {
      const problem = `${operation} has no ${name}`;
      throw invalidArgument(`${place}${name}`, problem, "Omit it.");
    }
  }
  const { selector } = operationEntry(operation);
  const all = targetsOf(operation);
  const targets = all.filter(
    ({ variant }) => pool === undefined || variant === pool,
  );
  if (targets.length === 0) {
    const pools = all.flatMap(({ variant = [] }) => variant);
    throw notOneOf(`${place}pool`, pools, pool);
  }
  const args = [orderID, terms].filter((each) => each !== undefined);
  // The caller and the arguments, as `MockBase.setRevertWhen` takes them.
  const condition = [
    selector,
    from === undefined ? ANYBODY : parseAccount(from, `${place}from`),
    args.length === 0 ? "0x" : dataSlice(encodeCall(operation, args).data, 4),
  ];
  const isConditional = args.length > 0 || from !== undefined;
  const data =
    reason === null
      ? undefined
      : encodeRevertData(reason, place === "" ? REASON : `${place}reason`);
  return targets.map(({ role }) =>
    data !== undefined
      ? call(role, "setRevertWhen", ...condition, data)
      : isConditional
        ? call(role, "clearRevertWhen", ...condition)
        : call(role, "clearRevert", selector),
  );
}

const failureOptions = {
  ...conditionOptions,
  operation: option<OperationName>(),
  reason: option<ScriptedReason>(),
};

export function checkFailures(given: unknown): readonly ScriptedFailure[] {
  if (!Array.isArray(given)) {
    throw invalidArgument("failures", "a list is needed");
  }
  return given.map((failure: ScriptedFailure, index) => {
    checkOptions(`failures[${index}]`, failure, failureOptions);
    callsForFailure(failure, `failures[${index}].`);
    return failure;
  });
}

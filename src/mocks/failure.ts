import {
  AbiCoder,
  ErrorFragment,
  Interface,
  concat,
  isHexString,
} from "ethers";

import { IMockErrors__factory } from "../bindings/factories/IMockErrors__factory.js";
import { describeInput } from "../client/inputs.js";
import { VaultError, invalidArgument } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import { ERROR_STRING_SELECTOR, PANIC_SELECTOR } from "../rpc/revert-reason.js";
import type { ScriptedReason } from "./types.js";

/**
 * The data that a mock with that reason reverts with, as 0x hex.
 *
 * @param where The place of the reason, named in errors.
 * @throws VaultError VAULT_INVALID_ARGUMENT
 *
 * @example
 * ```ts
 * encodeRevertData({ panic: 0x11 });
 * // '0x4e487b710000000000000000000000000000000000000000000000000000000000000011'
 * ```
 */
export function encodeRevertData(
  reason: ScriptedReason,
  where = "The reason to revert",
): string {
  const coder = AbiCoder.defaultAbiCoder();
  const invalid = (problem: string): VaultError =>
    invalidArgument(where, problem);
  try {
    if (typeof reason === "string") {
      // Bytes are encoded as a string is; ethers refuses lone surrogates in one.
      const text = new TextEncoder().encode(reason);
      return concat([ERROR_STRING_SELECTOR, coder.encode(["bytes"], [text])]);
    }
    // In JavaScript it can be anything.
    const { panic, data, customError, args } = asRecord(reason);
    if (panic !== undefined) {
      return concat([PANIC_SELECTOR, coder.encode(["uint256"], [panic])]);
    }
    if (typeof customError === "string") {
      const { errors, fragment } = findError(customError);
      if (fragment === undefined) {
        throw invalid(
          `the mocks have no error ${describeInput(customError)}; give the signature of another one, as in "Paused(address account)"`,
        );
      }
      return errors.encodeErrorResult(fragment, [...listOf(args)]);
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
          `it cannot be encoded: ${describeInput(error instanceof Error ? error.message : error)}`,
        );
  }
}

/** An error of the mocks by its name, or any by its signature. */
function findError(error: string): {
  readonly errors: Interface;
  readonly fragment: ErrorFragment | undefined;
} {
  const errors: Interface = error.includes("(")
    ? new Interface([`error ${error}`])
    : IMockErrors__factory.createInterface();
  const name = error.replace(/\(.*/su, "").trim();
  // getError would also take a selector, and throws for an unknown name.
  const fragment = errors.fragments.find(
    (known) => known instanceof ErrorFragment && known.name === name,
  );
  return {
    errors,
    fragment: fragment instanceof ErrorFragment ? fragment : undefined,
  };
}

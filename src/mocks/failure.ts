import { AbiCoder, Interface, concat, isHexString } from "ethers";

import { IMockErrors__factory } from "../bindings/factories/IMockErrors__factory.js";
import { describeInput } from "../client/inputs.js";
import { VaultError, invalidArgument } from "../errors.js";
import { asRecord, listOf } from "../json.js";
import { ERROR_STRING_SELECTOR, PANIC_SELECTOR } from "../rpc/revert-reason.js";
import type { ScriptedReason } from "./types.js";

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
  where = "The reason to revert",
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
      const errors: Interface = customError.includes("(")
        ? new Interface([`error ${customError}`])
        : IMockErrors__factory.createInterface();
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
          `it cannot be encoded: ${describeInput(error instanceof Error ? error.message : error)}`,
        );
  }
}

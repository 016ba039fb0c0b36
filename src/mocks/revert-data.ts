import { AbiCoder, concat, isHexString } from "ethers";

import { IMockErrors__factory } from "../bindings/factories/IMockErrors__factory.js";
import { describeInput } from "../client/inputs.js";
import { vaultError } from "../errors.js";

/**
 * Why a mock is to revert: a string for `Error(string)`, a panic code, a custom
 * error of the mocks with its arguments, or the revert data itself ("0x" for
 * none).
 */
export type ScriptedReason =
  | string
  | { readonly panic: bigint | number }
  | { readonly customError: string; readonly args?: readonly unknown[] }
  | { readonly data: string };

/** @throws VaultError VAULT_INVALID_ARGUMENT */
export function encodeRevertData(reason: ScriptedReason): string {
  const coder = AbiCoder.defaultAbiCoder();
  if (typeof reason === "string") {
    return concat(["0x08c379a0", coder.encode(["string"], [reason])]);
  }
  if ("panic" in reason) {
    return concat(["0x4e487b71", coder.encode(["uint256"], [reason.panic])]);
  }
  if ("data" in reason) {
    if (!isHexString(reason.data)) {
      throw invalidReason(`data is not 0x hex: ${describeInput(reason.data)}`);
    }
    return reason.data;
  }
  const errors = IMockErrors__factory.createInterface();
  try {
    // ethers looks the name up at run time too, and refuses an unknown one.
    const fragment = errors.fragments
      .filter((each) => each.type === "error")
      .map((each) => errors.getError(each.format()))
      .find((each) => each?.name === reason.customError);
    if (fragment === undefined || fragment === null) {
      throw invalidReason(
        `the mocks have no error ${describeInput(reason.customError)}`,
      );
    }
    return errors.encodeErrorResult(fragment, [...(reason.args ?? [])]);
  } catch (error) {
    throw error instanceof Error && "code" in error && !("fix" in error)
      ? invalidReason(
          `the arguments do not fit ${describeInput(reason.customError)}`,
          error,
        )
      : error;
  }
}

function invalidReason(problem: string, cause?: unknown): Error {
  return vaultError(
    "VAULT_INVALID_ARGUMENT",
    { where: "The reason to revert", problem },
    cause,
  );
}

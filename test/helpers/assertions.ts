import { inspect } from "node:util";

import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import type { VaultErrorCode } from "../../src/client/index.js";

/** Waits for a failure and checks its code; what it says is for the caller. */
export async function expectVaultError(
  work: Promise<unknown> | (() => unknown),
  code: VaultErrorCode,
): Promise<VaultError> {
  const thrown = await caughtFrom(work, code);
  if (!VaultError.isVaultError(thrown)) {
    throw new Error(`expected ${code}, got ${String(thrown)}`, {
      cause: thrown,
    });
  }
  expect(thrown.code, thrown.message).to.equal(code);
  return thrown;
}

async function caughtFrom(
  work: Promise<unknown> | (() => unknown),
  code: VaultErrorCode,
): Promise<unknown> {
  let result: unknown;
  try {
    result = await (typeof work === "function" ? work() : work);
  } catch (error) {
    return error;
  }
  throw new Error(`expected ${code}, but it succeeded: ${inspect(result)}`);
}

/** Expects a failure of Hardhat that names the reason of a contract. */
export async function expectRevert(
  call: Promise<unknown>,
  reason: string,
): Promise<void> {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(String(error)).to.contain(`reason string '${reason}'`);
}

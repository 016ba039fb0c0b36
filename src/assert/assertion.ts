import { inspect } from "node:util";

import { VaultClient } from "../client/vault-client.js";
import type { VaultRound } from "../protocol/index.js";

/** The result of a check. */
export interface Verdict {
  readonly pass: boolean;
  /** Describes the failure: of the assertion, or of its opposite if it passes. */
  readonly message: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
  /** The round that was looked at. */
  readonly round?: VaultRound;
}

/** Fails an assertion and its opposite alike: a failure is no answer. */
export class NoVerdict extends Error {}

/**
 * Fails unless the check passes; if negated, unless it does not pass.
 *
 * @param called The function that the test called: the stack begins above it.
 */
export async function assertVerdict(
  check: Promise<Verdict>,
  called: unknown,
  createError: (failure: Omit<Verdict, "pass">) => Error,
  negated = false,
): Promise<Verdict> {
  // Once something asynchronous has run, the test's line is on no stack.
  const site: { stack?: string } = {};
  Error.captureStackTrace(
    site,
    typeof called === "function" ? called : assertVerdict,
  );
  const { stack = "" } = site;
  const fail = (failure: Omit<Verdict, "pass">): never => {
    const error = createError(failure);
    error.stack = `${error.name}: ${error.message}${stack.slice(stack.indexOf("\n"))}`;
    throw error;
  };
  const found = await check.catch((error: unknown) => {
    throw error instanceof NoVerdict ? fail(error) : error;
  });
  if (found.pass === negated) {
    fail(negated ? { message: found.message } : found);
  }
  return found;
}

export function requireVault(value: unknown): VaultClient {
  if (value instanceof VaultClient) {
    return value;
  }
  throw new NoVerdict(
    `a vault is needed (connection.vault, mocks.vault or await hre.vault.connect()), got ${inspect(value)}`,
  );
}

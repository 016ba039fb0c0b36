import { inspect } from "node:util";

import { checkOptions, optional } from "../client/inputs.js";
import type { OptionsOf } from "../client/inputs.js";
import { VaultClient } from "../client/vault-client.js";
import { VaultError, isErrorCode, addFrames } from "../errors.js";
import { asRecord } from "../json.js";
import type { VaultRound } from "../protocol/index.js";

/** A vault, or `hre.vault`, whose `connect()` resolves to one. */
export type AssertedVault = VaultClient | { connect(): Promise<VaultClient> };

export interface Verdict {
  readonly pass: boolean;
  /** Failure of the assertion, or of its negation if the check passes. */
  readonly message: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
  /** Round that was checked. */
  readonly round?: VaultRound;
}

/** Fails an assertion, because the check could not be made. */
export class NoVerdict extends Error {
  /** @param passesNegation False: the negation of the assertion fails, too. */
  constructor(
    message: string,
    public readonly passesNegation = false,
  ) {
    super(message);
  }
}

/**
 * @param subject Awaited before a refusal: a transaction that is mined later would be one
 * of the next test.
 * @param called Function that the test called: the stack begins at its caller.
 */
export async function assertVerdict(
  check: Promise<Verdict>,
  subject: unknown,
  called: unknown,
  createError: (failure: Omit<Verdict, "pass">) => Error,
  negated = false,
): Promise<Verdict> {
  // Captured now: after an `await`, the stack no longer has the test's line.
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
  const found = await check.catch(async (error: unknown): Promise<Verdict> => {
    await Promise.allSettled([subject]);
    if (error instanceof NoVerdict) {
      const { message } = error;
      return error.passesNegation
        ? { pass: false, message }
        : fail({ message });
    }
    throw addFrames(error, stack.split("\n").slice(1));
  });
  if (found.pass === negated) {
    fail(negated ? { message: found.message } : found);
  }
  return found;
}

export async function requireVault(value: unknown): Promise<VaultClient> {
  const vault = isLazy(value) ? await value.connect() : value;
  if (vault instanceof VaultClient) {
    return vault;
  }
  throw new NoVerdict(
    `a vault is needed (connection.vault, mocks.vault or hre.vault, of the only hardhat-vault that npm ls shows), got ${describe(value)}`,
  );
}

function isLazy(value: unknown): value is Exclude<AssertedVault, VaultClient> {
  return typeof asRecord(value)["connect"] === "function";
}

/** Shows a value in one short line. */
export function describe(value: unknown): string {
  const text = inspect(value, { depth: 0, breakLength: Infinity });
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/**
 * Refuses an expectation of another type, which has no keys and would always hold.
 *
 * @param needed The right type in words.
 */
export function requireExpected(
  value: unknown,
  needed: string,
): asserts value is object {
  if (Object.prototype.toString.call(value) !== "[object Object]") {
    throw new NoVerdict(`${needed} is needed, got ${describe(value)}`);
  }
}

const expectedOptions = {
  /**
   * Values that the error's `details` have; others may be there, too. An integer is
   * compared with its decimal text.
   */
  details: optional<Readonly<Record<string, string | number | bigint>>>(),
};

/** Options of a check for a `VaultError`. */
export interface ExpectedVaultError extends OptionsOf<typeof expectedOptions> {}

/** @param work A promise, or a function that is called. */
export async function checkRejection(
  work: unknown,
  code: unknown,
  expected: unknown = {},
): Promise<Verdict> {
  if (typeof work !== "function" && !isPromiseLike(work)) {
    throw new NoVerdict(
      `a promise, or a function that returns one, is needed, got ${describe(work)}`,
    );
  }
  let outcome: { readonly thrown: unknown } | undefined;
  // Comes first: a rejected promise must not stay unhandled.
  try {
    await (typeof work === "function"
      ? Reflect.apply(work, undefined, [])
      : work);
  } catch (thrown) {
    outcome = { thrown };
  }
  requireExpected(expected, "an object with details");
  checkOptions("rejectedWithVaultError", expected, expectedOptions);
  const details = asRecord(expected)["details"] ?? {};
  requireExpected(details, "an object with the values of details");
  if (typeof code !== "string" || !isErrorCode(code)) {
    throw new NoVerdict(`there is no error code ${describe(code)}`);
  }
  if (outcome === undefined) {
    return {
      pass: false,
      message: `expected a rejection with ${code}, but the promise was fulfilled`,
    };
  }
  const { thrown } = outcome;
  if (!VaultError.isVaultError(thrown)) {
    // A bug of the test is no rejection with another code.
    throw new NoVerdict(
      `expected a VaultError with code ${code}, got ${describe(thrown)}`,
    );
  }
  const problems =
    thrown.code === code
      ? Object.entries(details).flatMap(([name, value]) => {
          const found = thrown.details[name];
          return found !== undefined && String(found) === String(value)
            ? []
            : `details.${name} is ${describe(found)}, not ${describe(value)}`;
        })
      : [`it was ${thrown.code}: ${thrown.message}`];
  const pass = problems.length === 0;
  return {
    pass,
    message: pass
      ? `expected no rejection with ${code}, but it was: ${thrown.message}`
      : `expected a rejection with ${code}, but ${problems.join("; ")}`,
    expected: { code, details },
    actual: { code: thrown.code, details: thrown.details },
  };
}

function isPromiseLike(value: unknown): boolean {
  return typeof asRecord(value)["then"] === "function";
}

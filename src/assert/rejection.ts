import { checkOptions, option } from "../client/inputs.js";
import type { OptionsOf } from "../client/inputs.js";
import { VaultError, isErrorCode } from "../errors.js";
import { asRecord } from "../json.js";
import { NoVerdict, describe, requireExpected } from "./assertion.js";
import type { Verdict } from "./assertion.js";

const expectedOptions = {
  /**
   * Values that the error's `details` have; others may be there, too. An integer is
   * compared with its decimal text.
   */
  details: option<Readonly<Record<string, string | number | bigint>>>(),
};

/** Options of a check for a `VaultError`. */
export interface ExpectedVaultError extends OptionsOf<typeof expectedOptions> {}

/** @param work A promise, or a function that is called. */
export async function checkRejection(
  work: unknown,
  code: unknown,
  expected: unknown = {},
): Promise<Verdict> {
  // Comes first: a rejected promise must not stay unhandled.
  const outcome = await settle(work);
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
  const problems = Object.entries(details).flatMap(([name, value]) => {
    const found = thrown.details[name];
    return found !== undefined && String(found) === String(value)
      ? []
      : `details.${name} is ${describe(found)}, not ${describe(value)}`;
  });
  const isOther = thrown.code !== code;
  const pass = !isOther && problems.length === 0;
  return {
    pass,
    message: pass
      ? `expected no rejection with ${code}, but it was: ${thrown.message}`
      : isOther
        ? `expected a rejection with ${code}, but it was ${thrown.code}: ${thrown.message}`
        : `expected a rejection with ${code} and other details: ${problems.join("; ")}`,
    expected: { code, details },
    actual: { code: thrown.code, details: thrown.details },
  };
}

async function settle(
  work: unknown,
): Promise<{ readonly thrown: unknown } | undefined> {
  if (
    typeof work !== "function" &&
    typeof asRecord(work)["then"] !== "function"
  ) {
    throw new NoVerdict(
      `a promise, or a function that returns one, is needed, got ${describe(work)}`,
    );
  }
  try {
    await (typeof work === "function"
      ? Reflect.apply(work, undefined, [])
      : work);
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}

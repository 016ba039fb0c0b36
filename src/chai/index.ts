/**
 * Chai matchers for vaults and settlements; the import registers them. The default export
 * is a Chai plugin, for another copy of Chai: `chai.use(vaultMatchers)`.
 *
 * @module hardhat-vault/chai
 */
import { use } from "chai";

import {
  assertVerdict,
  checkRejection,
  NoVerdict,
} from "../assert/assertion.js";
import type { Verdict } from "../assert/assertion.js";
import {
  checkReadings,
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
} from "../assert/readings.js";
import { checkCalled } from "../assert/transaction.js";

export type * from "./type-extensions.js";
export type { ExpectedReadings, ExpectedValue } from "../assert/readings.js";
export type { ExpectedVaultError } from "../assert/assertion.js";
export type { CallArguments } from "../protocol/index.js";

// Derived from `use`, so that the declarations import Chai's types for consumers.
type ChaiPlugin = Parameters<typeof use>[0];

/** Flag in which hardhat-ethers-chai-matchers records an earlier matcher. */
const PREVIOUS_MATCHER = "previousMatcherName";
/** Flag that holds the promise of an earlier matcher of this package. */
const EARLIER = "hardhatVaultEarlier";

/** Copy of the flags when a matcher is called: a later `.not` changes them. */
interface MatcherContext {
  /** A vault, a transaction or a promise. */
  readonly subject: unknown;
  readonly negated: boolean;
  /** Of the matcher before it in the chain. */
  readonly earlier: Verdict | undefined;
}

type Matcher = (
  context: MatcherContext,
  ...args: readonly unknown[]
) => Verdict | Promise<Verdict>;

const matchers: Readonly<Record<string, Matcher>> = {
  settleRound: async ({ subject }, vault) =>
    await checkSettlement(vault, subject),
  roundSettled: async ({ subject }) => await checkSettledRound(subject),
  changeReadings: async ({ subject, negated }, vault, expected) =>
    await checkReadings(vault, subject, expected, negated),
  calledVault: async ({ subject }, vault, operation, args) =>
    await checkCalled(vault, subject, operation, args),
  rejectedWithVaultError: async ({ subject }, code, expected) =>
    await checkRejection(subject, code, expected),
  withPrice: (context, price) => checkEarlier("withPrice", context, { price }),
  withAmount: (context, amount) =>
    checkEarlier("withAmount", context, { amount }),
} satisfies Record<keyof Chai.VaultMatchers, Matcher> & Record<string, Matcher>;

function checkEarlier(
  name: string,
  { negated, earlier }: MatcherContext,
  expected: object,
): Verdict {
  if (negated) {
    throw new NoVerdict(
      `.${name}() cannot follow .not: it would not be clear which part is denied`,
    );
  }
  if (earlier?.round === undefined) {
    throw new NoVerdict(
      `.${name}() must follow .settleRound() or .roundSettled()`,
    );
  }
  return checkSettledWith(earlier, expected);
}

/**
 * The methods of a promise, for an assertion. A failure that nobody awaits ends the run:
 * Hardhat's Mocha prints a hint for a rejected promise, and passes.
 */
function promiseMethods(
  found: Promise<Verdict>,
): Omit<Promise<Verdict>, typeof Symbol.toStringTag> {
  let isAwaited = false;
  const take = async (): Promise<Verdict> => {
    isAwaited = true;
    return await found;
  };
  found.catch((error: unknown) => {
    // As late as Node.js reports a rejected promise.
    setImmediate(() => {
      if (!isAwaited) {
        throw error;
      }
    });
  });
  return {
    then: async (...handlers) => await take().then(...handlers),
    catch: async (handler) => await take().catch(handler),
    finally: async (handler) => await take().finally(handler),
  };
}

const vaultMatchers: ChaiPlugin = (chai, utils) => {
  for (const [name, matcher] of Object.entries(matchers)) {
    utils.addMethod(
      chai.Assertion.prototype,
      name,
      function (this: object, ...args: readonly unknown[]): object {
        // Flags are typed any.
        const flag = (key: string): unknown => utils.flag(this, key);
        const prefix = flag("message");
        const subject = flag("object");
        const negated = flag("negate") === true;
        // set below
        const earlier = flag(EARLIER) as PromiseLike<Verdict> | undefined;
        const previous = flag(PREVIOUS_MATCHER);
        const check = async (): Promise<Verdict> => {
          if (typeof previous === "string" && earlier === undefined) {
            // The promise of Hardhat's matcher, which cannot be found, would be lost.
            throw new NoVerdict(
              `${name} cannot be chained after ${previous}: write a second expect()`,
            );
          }
          const context = { subject, negated, earlier: await earlier };
          return await matcher(context, ...args);
        };
        const found = assertVerdict(
          check(),
          subject,
          flag("ssfi"),
          ({ message }) =>
            new chai.AssertionError(
              typeof prefix === "string" ? `${prefix}: ${message}` : message,
            ),
          negated,
        );
        const methods = promiseMethods(found);
        utils.flag(this, PREVIOUS_MATCHER, name);
        utils.flag(this, EARLIER, methods);
        return Object.assign(this, methods);
      },
    );
  }
};

use(vaultMatchers);

export default vaultMatchers;

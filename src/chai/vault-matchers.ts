import { capitalize } from "@nomicfoundation/hardhat-utils/string";
import type { use } from "chai";

import { NoVerdict, assertVerdict } from "../assert/assertion.js";
import type { Verdict } from "../assert/assertion.js";
import { checkReadings } from "../assert/change-readings.js";
import { checkRejection } from "../assert/rejection.js";
import {
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
  settledValues,
} from "../assert/settled-round.js";
import { checkCalled } from "../assert/vault-calls.js";
import { keysOf } from "../protocol/index.js";

// Derived from `use`, so that the declarations import Chai's types for consumers.
type ChaiPlugin = Parameters<typeof use>[0];

/** Flag in which hardhat-ethers-chai-matchers records an earlier matcher. */
const PREVIOUS_MATCHER = "previousMatcherName";
/** Flag that holds the {@link PendingCheck} of an assertion. */
const PENDING_CHECK = "hardhatVaultPendingCheck";

/** Copy of the flags when a matcher is called: a later `.not` changes them. */
interface MatcherContext {
  readonly subject: unknown;
  readonly negated: boolean;
  readonly previous: unknown;
  readonly pending: unknown;
}

/** The checks by their matchers; `subject` is a vault, a transaction or a promise. */
const matchers: Readonly<
  Record<
    keyof Chai.VaultMatchers,
    (context: MatcherContext, ...args: readonly unknown[]) => Promise<Verdict>
  >
> = {
  settleRound: async ({ subject }, vault) =>
    await checkSettlement(vault, subject),
  roundSettled: async ({ subject }) => await checkSettledRound(subject),
  changeReadings: async ({ subject, negated }, vault, expected) =>
    await checkReadings(vault, subject, expected, negated),
  calledVault: async ({ subject }, operation, args, vault) =>
    await checkCalled(subject, operation, args, vault),
  rejectedWithVaultError: async ({ subject }, code, expected) =>
    await checkRejection(subject, code, expected),
};

/**
 * The check of an assertion. A failure that nobody awaits ends the run: Hardhat's Mocha
 * prints a hint for a rejected promise, and passes.
 */
class PendingCheck {
  #isAwaited = false;

  public constructor(private readonly found: Promise<Verdict>) {
    found.catch((error: unknown) => {
      // As late as Node.js reports a rejected promise.
      setImmediate(() => {
        if (!this.#isAwaited) {
          throw error;
        }
      });
    });
  }

  /** The check, which is awaited from now on. */
  public async take(): Promise<Verdict> {
    this.#isAwaited = true;
    return await this.found;
  }

  /** The methods of a promise, for an assertion. */
  public asPromise(): Omit<Promise<Verdict>, typeof Symbol.toStringTag> {
    return {
      then: async (...handlers) => await this.take().then(...handlers),
      catch: async (handler) => await this.take().catch(handler),
      finally: async (handler) => await this.take().finally(handler),
    };
  }
}

export const vaultMatchers: ChaiPlugin = (chai, utils) => {
  const addMethod = (
    name: string,
    check: (
      context: MatcherContext,
      ...args: readonly unknown[]
    ) => Promise<Verdict>,
  ): void => {
    utils.addMethod(
      chai.Assertion.prototype,
      name,
      function (this: object, ...args: readonly unknown[]): object {
        // Flags are typed any.
        const flag = (key: string): unknown => utils.flag(this, key);
        const prefix = flag("message");
        const context = {
          subject: flag("object"),
          negated: flag("negate") === true,
          previous: flag(PREVIOUS_MATCHER),
          pending: flag(PENDING_CHECK),
        };
        const found = assertVerdict(
          check(context, ...args),
          context.subject,
          flag("ssfi"),
          ({ message }) =>
            new chai.AssertionError(
              typeof prefix === "string" ? `${prefix}: ${message}` : message,
            ),
          context.negated,
        );
        const pending = new PendingCheck(found);
        utils.flag(this, PREVIOUS_MATCHER, name);
        utils.flag(this, PENDING_CHECK, pending);
        return Object.assign(this, pending.asPromise());
      },
    );
  };

  for (const name of keysOf(matchers)) {
    addMethod(name, async (context, ...args) => {
      const { previous, pending } = context;
      // Of two asynchronous matchers, the result of one would be lost.
      if (typeof previous === "string") {
        // It goes on reading, and nobody else awaits it.
        if (pending instanceof PendingCheck) {
          await Promise.allSettled([pending.take()]);
        }
        throw new NoVerdict(
          `${name} cannot be chained after ${previous}: write a second expect()`,
        );
      }
      return await matchers[name](context, ...args);
    });
  }

  for (const value of keysOf(settledValues)) {
    const name = `with${capitalize(value)}`;
    addMethod(name, async ({ negated, pending }, expected) => {
      const found =
        pending instanceof PendingCheck ? await pending.take() : undefined;
      if (negated) {
        throw new NoVerdict(
          `.${name}() cannot follow .not: it would not be clear which part is denied`,
        );
      }
      if (found?.round === undefined) {
        throw new NoVerdict(
          `.${name}() must follow .settleRound() or .roundSettled()`,
        );
      }
      return checkSettledWith(found, settledValues[value], expected);
    });
  }
};

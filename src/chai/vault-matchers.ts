import type { use } from "chai";

import { NoVerdict, assertVerdict } from "../assert/assertion.js";
import type { Verdict } from "../assert/assertion.js";
import { checkReadings } from "../assert/change-readings.js";
import {
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
} from "../assert/settled-round.js";

// Derived from `use`, so that the declarations import Chai's types for consumers.
type ChaiPlugin = Parameters<typeof use>[0];

/** Flag in which hardhat-ethers-chai-matchers records an earlier matcher. */
const PREVIOUS_MATCHER = "previousMatcherName";
/** Flag that holds the {@link PendingCheck} of an assertion. */
const PENDING_CHECK = "hardhatVaultPendingCheck";

class PendingCheck {
  public constructor(public readonly found: Promise<Verdict>) {}
}

/** Copy of the flags when a matcher is called: a later `.not` changes them. */
interface MatcherContext {
  readonly subject: unknown;
  readonly negated: boolean;
  readonly previous: unknown;
  readonly pending: unknown;
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
          flag("ssfi"),
          ({ message }) =>
            new chai.AssertionError(
              typeof prefix === "string" ? `${prefix}: ${message}` : message,
            ),
          context.negated,
        );
        utils.flag(this, PREVIOUS_MATCHER, name);
        utils.flag(this, PENDING_CHECK, new PendingCheck(found));
        // Makes the assertion awaitable.
        return Object.assign(this, {
          then: found.then.bind(found),
          catch: found.catch.bind(found),
          finally: found.finally.bind(found),
        });
      },
    );
  };

  const addMatcher: typeof addMethod = (name, check) => {
    addMethod(name, async (context, ...args) => {
      // Of two asynchronous matchers, the result of one would be lost.
      if (typeof context.previous === "string") {
        // It goes on reading, and nobody else awaits it.
        if (context.pending instanceof PendingCheck) {
          await Promise.allSettled([context.pending.found]);
        }
        throw new NoVerdict(
          `${name} cannot be chained after ${context.previous}: write a second expect()`,
        );
      }
      return await check(context, ...args);
    });
  };
  addMatcher("settleRound", ({ subject }, vault) =>
    checkSettlement(vault, subject),
  );
  addMatcher("settledRound", ({ subject }) => checkSettledRound(subject));
  addMatcher("changeReadings", ({ subject, negated }, vault, expected) =>
    checkReadings(vault, subject, expected, negated),
  );

  for (const [name, field] of [
    ["withPrice", "settledPrice"],
    ["withAmount", "settledAmount"],
  ] as const) {
    addMethod(name, async ({ negated, pending }, expected) => {
      const found =
        pending instanceof PendingCheck ? await pending.found : undefined;
      if (negated) {
        throw new NoVerdict(
          `.${name}() cannot follow .not: it would not be clear which part is denied`,
        );
      }
      if (found?.round === undefined) {
        throw new NoVerdict(
          `.${name}() must follow .settleRound() or .settledRound()`,
        );
      }
      return checkSettledWith(found, field, expected);
    });
  }
};

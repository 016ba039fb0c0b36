import type { use } from "chai";

import { parseInteger } from "../assert/assertion.js";
import { checkReadings } from "../assert/change-readings.js";
import {
  checkSettledRound,
  checkSettledWith,
  checkSettlement,
} from "../assert/settled-round.js";
import type { RoundVerdict } from "../assert/settled-round.js";
import { MatcherContext } from "./matcher-context.js";

// By way of `use`, so that our declarations import Chai's types: the global
// namespace of a consumer has them only if something does.
type ChaiPlugin = Parameters<typeof use>[0];

/** The flag that holds the {@link PendingRound} of an assertion. */
const PENDING_ROUND = "hardhatVaultPendingRound";

/** A round that is being looked for. */
class PendingRound {
  public constructor(public readonly found: Promise<RoundVerdict>) {}
}

/** Makes the assertion wait for a round, which details can look at. */
function awaitRound(
  context: MatcherContext,
  find: () => Promise<RoundVerdict>,
): object {
  const found = context.check(find, context.subject);
  context.setFlag(PENDING_ROUND, new PendingRound(found));
  return context.settleWith(found);
}

/** The matchers that look at a settled round, and the field each compares. */
const details = [
  { matcher: "withPrice", field: "settledPrice" },
  { matcher: "withAmount", field: "settledAmount" },
] as const;

/** The matchers, as a Chai plugin. */
export const vaultMatchers: ChaiPlugin = (chai, utils) => {
  const addMethod = (
    name: string,
    match: (context: MatcherContext, ...args: readonly unknown[]) => object,
  ): void => {
    utils.addMethod(
      chai.Assertion.prototype,
      name,
      function (this: object, ...args: readonly unknown[]): object {
        return match(new MatcherContext(this, chai, utils), ...args);
      },
    );
  };
  const addMatcher: typeof addMethod = (name, match) => {
    addMethod(name, (context, ...args) => {
      context.preventChaining(name);
      return match(context, ...args);
    });
  };

  addMatcher("settleRound", (context, vault) =>
    awaitRound(
      context,
      async () => await checkSettlement(vault, context.subject),
    ),
  );
  addMatcher("settledRound", (context) =>
    awaitRound(context, async () => await checkSettledRound(context.subject)),
  );
  addMatcher("changeReadings", (context, vault, expected) =>
    context.settleWith(
      context.check(
        async () => await checkReadings(vault, context.subject, expected),
        context.subject,
      ),
    ),
  );

  for (const { matcher, field } of details) {
    addMethod(matcher, (context, expectedValue) => {
      const pending = context.flag(PENDING_ROUND);
      if (!(pending instanceof PendingRound)) {
        return context.fail(
          `.${matcher}() must follow .settleRound() or .settledRound()`,
        );
      }
      // From here on nobody awaits it, but what the check makes of it.
      pending.found.catch(() => undefined);
      return context.negated
        ? context.fail(
            `.${matcher}() cannot follow .not: it would not be clear which part is denied`,
          )
        : awaitRound(context, async () => {
            const expected = parseInteger(expectedValue, matcher);
            const { round } = await pending.found;
            return round === undefined
              ? {}
              : checkSettledWith(round, field, expected);
          });
    });
  }
};

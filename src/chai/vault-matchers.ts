import type { use } from "chai";

import { compareReadings } from "../assert/change-readings.js";
import {
  checkSettledWith,
  findSettledRound,
  findSettlement,
} from "../assert/settled-round.js";
import type { VaultRound } from "../protocol/index.js";
import { MatcherContext } from "./matcher-context.js";

// By way of `use`, so that our declarations import Chai's types: the global
// namespace of a consumer has them only if something does.
type ChaiPlugin = Parameters<typeof use>[0];

/** The flag that holds the {@link PendingRound} of an assertion. */
const PENDING_ROUND = "hardhatVaultPendingRound";

/** A round that is being looked for. */
class PendingRound {
  public constructor(
    /** Undefined where the assertion is negated and holds. */
    public readonly round: Promise<VaultRound | undefined>,
    /** Settles with the assertion. */
    public readonly outcome: Promise<void> = round.then(() => undefined),
  ) {}
}

/** Makes the assertion wait for a round, which details can look at. */
function awaitRound(
  context: MatcherContext,
  round: Promise<VaultRound | undefined>,
): object {
  const pending = new PendingRound(round);
  context.setFlag(PENDING_ROUND, pending);
  return context.settleWith(pending.outcome);
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
    awaitRound(context, findSettlement(context, vault)),
  );
  addMatcher("settledRound", (context) =>
    awaitRound(context, findSettledRound(context, context.subject)),
  );
  addMatcher("changeReadings", (context, vault, expected) =>
    context.settleWith(compareReadings(context, vault, expected)),
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
      pending.outcome.catch(() => undefined);
      const check = async (): Promise<VaultRound | undefined> => {
        const expected = context.parseInteger(expectedValue, matcher);
        const round = await pending.round;
        if (round !== undefined) {
          checkSettledWith(context, round, field, expected);
        }
        return round;
      };
      return context.negated
        ? context.fail(
            `.${matcher}() cannot follow .not: it would not be clear which part is denied`,
          )
        : awaitRound(context, check());
    });
  }
};

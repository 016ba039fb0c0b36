import type { use } from "chai";

import { compareReadings, parseExpected } from "../assert/change-readings.js";
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
  const addMatcher = (
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

  addMatcher("settleRound", (context, vault) => {
    context.preventChaining("settleRound");
    const where = "the argument of .settleRound()";
    const readable = context.requireVault(vault, where);
    return awaitRound(context, findSettlement(context, readable));
  });

  addMatcher("settledRound", (context) => {
    context.preventChaining("settledRound");
    // Fails when it is awaited, as every other failure of the matcher.
    const search = async (): ReturnType<typeof findSettledRound> => {
      const where = "the subject of .settledRound()";
      const readable = context.requireVault(context.subject, where);
      return await findSettledRound(context, readable);
    };
    return awaitRound(context, search());
  });

  addMatcher("changeReadings", (context, vault, expected) => {
    context.preventChaining("changeReadings");
    const where = "the first argument of .changeReadings()";
    const readable = context.requireVault(vault, where);
    const changes = parseExpected(context, expected, ".changeReadings");
    return context.settleWith(compareReadings(context, readable, changes));
  });

  for (const { matcher, field } of details) {
    addMatcher(matcher, (context, expectedValue) => {
      const pending = context.flag(PENDING_ROUND);
      if (!(pending instanceof PendingRound)) {
        return context.fail(
          `.${matcher}() must follow .settleRound() or .settledRound()`,
        );
      }
      // From here on nobody awaits it, but what the check makes of it.
      pending.outcome.catch(() => undefined);
      if (context.negated) {
        context.fail(
          `.${matcher}() cannot follow .not: it would not be clear which part is denied`,
        );
      }
      const expected = context.parseInteger(expectedValue, matcher);
      const check = async (): Promise<VaultRound | undefined> => {
        const round = await pending.round;
        if (round !== undefined) {
          checkSettledWith(context, round, field, expected);
        }
        return round;
      };
      return awaitRound(context, check());
    });
  }
};

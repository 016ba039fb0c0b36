import { checkSettledWith } from "../assert/settled-round.js";
import type { VaultRound } from "../protocol/index.js";
import { MatcherContext } from "./matcher-context.js";

/** The flag that holds the {@link PendingRound} of an assertion. */
const PENDING_ROUND = "hardhatVaultPendingRound";

/** A round that is being looked for. */
class PendingRound {
  /** Settles with the assertion; every detail adds to it. */
  public outcome: Promise<void>;
  #round: VaultRound | undefined;

  /** @param search Undefined where the assertion is negated and holds. */
  constructor(search: Promise<VaultRound | undefined>) {
    this.outcome = search.then((round) => {
      this.#round = round;
    });
  }

  public addCheck(check: (round: VaultRound) => void): void {
    // One chain: a promise beside it would be one that nobody awaits.
    this.outcome = this.outcome.then(() => {
      if (this.#round !== undefined) {
        check(this.#round);
      }
    });
  }

  /** Nobody will look at how it turned out. */
  public abandon(): void {
    this.outcome.catch(() => undefined);
  }
}

/** The matchers that look at a settled round, and the field each compares. */
const details = [
  { matcher: "withPrice", field: "settledPrice" },
  { matcher: "withAmount", field: "settledAmount" },
] as const;

/** Adds `withPrice` and `withAmount`. */
export function supportRoundDetails(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  for (const { matcher, field } of details) {
    utils.addMethod(
      chai.Assertion.prototype,
      matcher,
      function (this: object, expectedValue: unknown): object {
        const context = new MatcherContext(this, chai, utils);
        const pending = context.flag(PENDING_ROUND);
        if (!(pending instanceof PendingRound)) {
          return context.fail(
            `.${matcher}() must follow .settleRound() or .settledRound()`,
          );
        }
        // From here on nobody awaits it, but what the check makes of it.
        pending.abandon();
        if (context.negated) {
          context.fail(
            `.${matcher}() cannot follow .not: it would not be clear which part is denied`,
          );
        }
        const expected = context.parseExpected(expectedValue, matcher);
        pending.addCheck((round) => {
          checkSettledWith(context, round, field, expected);
        });
        return context.settleWith(pending.outcome);
      },
    );
  }
}

/**
 * Makes the assertion wait for a round, and the details look at it.
 *
 * @param search Resolves to undefined where the assertion is negated and holds.
 */
export function awaitRound(
  context: MatcherContext,
  search: Promise<VaultRound | undefined>,
): object {
  const pending = new PendingRound(search);
  context.setFlag(PENDING_ROUND, pending);
  return context.settleWith(pending.outcome);
}

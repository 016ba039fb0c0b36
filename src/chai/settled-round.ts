import type { VaultRound } from "../protocol/index.js";
import { describeOutcome } from "../protocol/round.js";
import { MatcherContext } from "./matcher-context.js";
import { awaitRound } from "./round-details.js";

/** Adds `settledRound()`. */
export function supportSettledRound(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  utils.addMethod(
    chai.Assertion.prototype,
    "settledRound",
    function (this: object): object {
      const context = new MatcherContext(this, chai, utils);
      context.preventChaining("settledRound");
      return awaitRound(context, findSettledRound(context));
    },
  );
}

async function findSettledRound(
  context: MatcherContext,
): Promise<VaultRound | undefined> {
  const vault = context.requireVault(
    context.subject,
    "the subject of .settledRound()",
  );
  const round = await vault.getLatestRoundInfo();
  context.check(
    round.settled,
    () =>
      `expected the vault's latest round to be settled, but it is not (${describeOutcome(round)})`,
    () =>
      `expected the vault's latest round not to be settled, but it is (${describeOutcome(round)})`,
  );
  return context.negated ? undefined : round;
}

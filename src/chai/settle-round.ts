import { findSettledRound, findSettlement } from "../assert/settled-round.js";
import { MatcherContext } from "./matcher-context.js";
import { awaitRound } from "./round-details.js";

/** Adds `settleRound(vault)` and `settledRound()`. */
export function supportSettledRounds(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  const { prototype } = chai.Assertion;
  utils.addMethod(
    prototype,
    "settleRound",
    function (this: object, vault: unknown): object {
      const context = new MatcherContext(this, chai, utils);
      context.preventChaining("settleRound");
      const readable = context.requireVault(
        vault,
        "the argument of .settleRound()",
      );
      return awaitRound(context, findSettlement(context, readable));
    },
  );
  utils.addMethod(prototype, "settledRound", function (this: object): object {
    const context = new MatcherContext(this, chai, utils);
    context.preventChaining("settledRound");
    return awaitRound(context, searchOf(context));
  });
}

/** Fails when it is awaited, as every other failure of the matcher. */
async function searchOf(
  context: MatcherContext,
): ReturnType<typeof findSettledRound> {
  const vault = context.requireVault(
    context.subject,
    "the subject of .settledRound()",
  );
  return await findSettledRound(context, vault);
}

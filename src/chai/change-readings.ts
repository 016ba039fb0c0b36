import { compareReadings, parseExpected } from "../assert/change-readings.js";
import { MatcherContext } from "./matcher-context.js";

/** Adds `changeReadings(vault, expected?)`. */
export function supportChangeReadings(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  utils.addMethod(
    chai.Assertion.prototype,
    "changeReadings",
    function (this: object, vault: unknown, expected?: unknown): object {
      const context = new MatcherContext(this, chai, utils);
      context.preventChaining("changeReadings");
      return context.settleWith(
        compareReadings(
          context,
          context.requireVault(
            vault,
            "the first argument of .changeReadings()",
          ),
          parseExpected(context, expected, ".changeReadings"),
        ),
      );
    },
  );
}

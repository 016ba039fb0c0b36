import { supportChangeReadings } from "./change-readings.js";
import { supportOrderState } from "./order-state.js";
import { supportRoundDetails } from "./round-details.js";
import { supportSettleRound } from "./settle-round.js";
import { supportSettledRound } from "./settled-round.js";

/** The matchers, as a Chai plugin. */
export function vaultMatchers(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  supportOrderState(chai, utils);
  supportSettledRound(chai, utils);
  supportSettleRound(chai, utils);
  supportRoundDetails(chai, utils);
  supportChangeReadings(chai, utils);
}

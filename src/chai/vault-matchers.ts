import type { use } from "chai";

import { supportChangeReadings } from "./change-readings.js";
import { supportOrderState } from "./order-state.js";
import { supportRoundDetails } from "./round-details.js";
import { supportSettleRound } from "./settle-round.js";
import { supportSettledRound } from "./settled-round.js";

// By way of `use`, so that our declarations import Chai's types: the global
// namespace of a consumer has them only if something does.
type ChaiPlugin = Parameters<typeof use>[0];

/** The matchers, as a Chai plugin. */
export const vaultMatchers: ChaiPlugin = (chai, utils) => {
  supportOrderState(chai, utils);
  supportSettledRound(chai, utils);
  supportSettleRound(chai, utils);
  supportRoundDetails(chai, utils);
  supportChangeReadings(chai, utils);
};

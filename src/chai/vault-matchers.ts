import type { use } from "chai";

import { supportChangeReadings } from "./change-readings.js";
import { supportOrderState } from "./order-state.js";
import { supportRoundDetails } from "./round-details.js";
import { supportSettledRounds } from "./settle-round.js";

// By way of `use`, so that our declarations import Chai's types: the global
// namespace of a consumer has them only if something does.
type ChaiPlugin = Parameters<typeof use>[0];

/** The matchers, as a Chai plugin. */
export const vaultMatchers: ChaiPlugin = (chai, utils) => {
  supportOrderState(chai, utils);
  supportSettledRounds(chai, utils);
  supportRoundDetails(chai, utils);
  supportChangeReadings(chai, utils);
};

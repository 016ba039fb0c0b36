import { flag, option, scenario } from "./options.js";
import { describeTask, timeoutOfTransactions } from "./shared.js";

export const deployMocksTask = describeTask(
  "Deploy mocks of the six contracts",
  {
    scenario: option(scenario, "State of the mocks", { default: "open-round" }),
    yes: flag("Deploy to a live network, too; this costs money"),
    timeout: timeoutOfTransactions,
  },
);

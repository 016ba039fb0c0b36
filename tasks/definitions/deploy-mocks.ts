import { flag, option, text } from "./options.js";
import { describeTask } from "./shared.js";

export const deployMocksTask = describeTask(
  "Deploy mocks of the six contracts",
  {
    scenario: option(text, "State of the mocks", { default: "open-round" }),
    yes: flag("Deploy to a live network, too; this costs money"),
  },
);

import { flag, option, text } from "./options.js";
import { common } from "./shared-options.js";

export const deployMocksOptions = {
  ...common,
  scenario: option(text, "State of the mocks", { default: "open-round" }),
  yes: flag("Deploy to a live network, too; this costs money"),
} as const;

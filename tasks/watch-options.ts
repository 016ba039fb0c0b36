import { flag, option, seconds, timeOr } from "./options.js";
import { common, raw, settler } from "./shared-options.js";

export const watchOptions = {
  ...common,
  json: flag("Print one JSON document per change, each on one line"),
  raw,
  until: option(
    timeOr("settled", "expired"),
    "Exit with 0 at this event or time",
    { default: "never" },
  ),
  from: settler("Account that would settle"),
  interval: option(seconds(0.1), "Seconds between checks", { default: "5" }),
} as const;

import { flag, option, seconds, timeOr } from "./options.js";
import { at, describeTask, raw, settler } from "./shared.js";

export const watchTask = describeTask("Show each change of the readings", {
  at,
  json: flag("Print one JSON document per change, each on one line"),
  raw,
  until: option(
    timeOr("settled", "expired"),
    "Exit with 0 at this event or time",
    { default: "never" },
  ),
  from: settler("Account that would settle"),
  interval: option(seconds(0.1), "Seconds between checks", { default: "5" }),
});

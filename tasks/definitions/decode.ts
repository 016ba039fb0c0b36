import { positional, text } from "./options.js";
import { describeTask, raw } from "./shared.js";

export const decodeTask = describeTask(
  "Decode call data, returned data or revert data",
  {
    hex: positional(text, "Call data, returned data or revert data, 0x hex"),
    raw,
  },
);

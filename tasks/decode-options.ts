import { positional, text } from "./options.js";
import { common, raw } from "./shared-options.js";

export const decodeOptions = {
  ...common,
  hex: positional(text, "Call data, returned data or revert data, 0x hex"),
  raw,
} as const;

import { flag } from "./options.js";
import { common, settler, timeout } from "./shared-options.js";

export const doctorOptions = {
  ...common,
  from: settler("Account that would settle"),
  timeout,
  strict: flag("Exit with 1 on warnings, too"),
} as const;

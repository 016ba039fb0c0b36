import { flag } from "./options.js";
import { at, describeTask, settler, timeout } from "./shared.js";

export const doctorTask = describeTask("Check network, contracts and signer", {
  at,
  from: settler("Account that would settle"),
  timeout,
  strict: flag("Exit with 1 on warnings, too"),
});

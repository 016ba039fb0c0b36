import { address, flag, option, wordOr } from "./options.js";
import { common, settler } from "./shared-options.js";

export const deployGuardOptions = {
  ...common,
  settler: option(
    wordOr("anyone", address),
    "The only account that may settle through it",
    { default: "the account that deploys" },
  ),
  from: settler("Account that deploys"),
  yes: flag("Deploy without a question"),
} as const;

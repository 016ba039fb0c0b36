import { flag, option, settlerOfGuard } from "./options.js";
import { describeTask, settler, timeoutOfTransactions } from "./shared.js";

export const deployGuardTask = describeTask(
  "Deploy a guard, which settles one round or reverts",
  {
    settler: option(
      settlerOfGuard,
      "The only account that may settle through it",
      { default: "the account that deploys" },
    ),
    from: settler("Account that deploys"),
    yes: flag("Deploy without a question"),
    timeout: timeoutOfTransactions,
  },
);

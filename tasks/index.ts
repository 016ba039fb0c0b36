import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";

import { defineTasks } from "./definitions/index.js";

const load = async () => await import("./actions.js");

/** The tasks of the plugin; what they run is loaded when they run. */
export const vaultTasks = defineTasks(
  { emptyTask, task, ArgumentType },
  {
    read: (operation) => async () =>
      await (await load()).loadReadAction(operation),
    written: (name) => async () => await (await load()).actions[name](),
  },
);

import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";

import { defineTasks } from "./definitions/index.js";

export const vaultTasks = defineTasks(
  { emptyTask, task, ArgumentType },
  async () => await import("./actions.js"),
);

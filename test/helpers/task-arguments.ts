import { taskArguments } from "../../tasks/arguments.js";
import type { Argument, ArgumentsOf, TaskName } from "../../tasks/arguments.js";

/** What Hardhat runs a task with, where only these were typed. */
export function argumentsOf<Task extends TaskName>(
  task: Task,
  typed: Partial<ArgumentsOf<Task>> = {},
): ArgumentsOf<Task> {
  const described: Readonly<Record<string, Argument>> = taskArguments[task];
  const untyped = Object.entries(described).map(([name, argument]) => [
    name,
    typeof argument === "object" && "flag" in argument ? false : undefined,
  ]);
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- by the very description that the type is made from
  return { ...Object.fromEntries(untyped), ...typed } as ArgumentsOf<Task>;
}

/**
 * Runs the commands of a terminal session one after the other, on one chain in
 * process, each after the line in which a person would have typed it.
 */
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

import hre from "hardhat";

/** The command line, and what Hardhat makes of it. */
type Command = readonly [
  typed: string,
  task: string,
  args: Readonly<Record<string, unknown>>,
  /** File that is there once somebody has typed before the task starts. */
  typedAhead?: string,
];

const commands: readonly Command[] = JSON.parse(
  process.env["TEST_COMMANDS"] ?? "[]",
);

for (const [typed, task, args, typedAhead] of commands) {
  process.stdout.write(`$ npx hardhat vault ${typed}\n`);
  while (typedAhead !== undefined && !existsSync(typedAhead)) {
    await setTimeout(20);
  }
  await hre.tasks.getTask(["vault", ...task.split(" ")]).run({ ...args });
  process.stdout.write("\n");
}

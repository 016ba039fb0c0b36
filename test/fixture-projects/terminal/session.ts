/**
 * Runs the commands of a terminal session one after the other, on one chain in
 * process, each after the line in which a person would have typed it.
 */
import hre from "hardhat";

/** The command line, and what Hardhat makes of it. */
type Command = readonly [
  typed: string,
  task: string,
  args: Readonly<Record<string, unknown>>,
];

const commands: readonly Command[] = JSON.parse(
  process.env["TEST_COMMANDS"] ?? "[]",
);

for (const [typed, task, args] of commands) {
  process.stdout.write(`$ npx hardhat vault ${typed}\n`);
  await hre.tasks.getTask(["vault", ...task.split(" ")]).run({ ...args });
  process.stdout.write("\n");
}

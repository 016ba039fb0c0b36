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

const { provider, networkConfig } = await hre.network.getOrCreate();
if (networkConfig.type === "edr-simulated") {
  // Else a round may end a second sooner, since the clock runs during `deploy-mocks`.
  const seconds = Date.parse("2026-11-21T00:00:01Z") / 1_000;
  await provider.request({
    method: "evm_setNextBlockTimestamp",
    params: [seconds],
  });
}

for (const [typed, task, args] of commands) {
  process.stdout.write(`$ npx hardhat vault ${typed}\n`);
  await hre.tasks.getTask(["vault", ...task.split(" ")]).run({ ...args });
  process.stdout.write("\n");
}

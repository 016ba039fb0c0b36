/**
 * Runs tasks one after the other, and writes to a file how each ended: there may
 * be nobody who reads what they print. On a terminal, each comes after its name.
 */
import { appendFile } from "node:fs/promises";

import hre from "hardhat";

type Run = readonly [task: string, args: Readonly<Record<string, unknown>>];

const runs: readonly Run[] = JSON.parse(process.env["TEST_RUNS"] ?? "[]");

for (const [task, args] of runs) {
  if (process.stdout.isTTY) {
    process.stdout.write(`$ vault ${task}\n`);
  }
  const result: unknown = await hre.tasks
    .getTask(["vault", ...task.split(" ")])
    .run({ ...args });
  const success: unknown = Reflect.get(Object(result), "success");
  await appendFile(
    process.env["TEST_ENDS"] ?? "ends",
    `${task} ${JSON.stringify(args)}: ${String(success)}\n`,
  );
}

/**
 * Runs tasks one after the other, and writes to a file how each ended: nobody
 * reads what they print.
 */
import { appendFile } from "node:fs/promises";

import hre from "hardhat";

type Run = readonly [task: string, args: Readonly<Record<string, unknown>>];

const runs: readonly Run[] = JSON.parse(process.env["TEST_RUNS"] ?? "[]");

for (const [task, args] of runs) {
  const result: unknown = await hre.tasks
    .getTask(["vault", ...task.split(" ")])
    .run({ ...args });
  const success: unknown = Reflect.get(Object(result), "success");
  await appendFile(
    process.env["TEST_ENDS"] ?? "ends",
    `${task} ${JSON.stringify(args)}: ${String(success)}\n`,
  );
}

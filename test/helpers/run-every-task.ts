import { setTimeout as sleep } from "node:timers/promises";

import { boundedReads } from "./every-vault-task.js";
import { hreOnLive } from "./hre.js";
import { documentedContracts } from "./documented-node.js";
import { DEV_KEYS } from "./world.js";

// A script for `hardhat run`: runs every task that reads at the same time on a node, and
// prints a line for each that ends. No task may end the process of a script.
const hre = await hreOnLive(
  process.env["TEST_URL"] ?? "",
  {
    timeout: 1_000,
    accounts: [DEV_KEYS[1]],
    vault: { contracts: documentedContracts },
  },
  process.env["TEST_PROJECT"],
);
await Promise.all(
  boundedReads().map(async ({ task, args }) => {
    await hre.tasks
      .getTask(["vault", ...task.split(" ")])
      .run({ ...args, timeout: "1" });
    // Tasks may send to stderr what others write to stdout meanwhile.
    process.stderr.write(`\n<ended> ${task}\n`);
  }),
);
// Longer than Hardhat's last steps after a task of the command line.
await sleep(1_500);
process.stderr.write("\n<the script goes on>\n");

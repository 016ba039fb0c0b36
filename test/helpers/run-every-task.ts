import { everyTaskRun } from "./every-vault-task.js";
import { hreOnLive } from "./hre.js";
import { documentedContracts } from "./documented-node.js";
import { DEV_KEYS } from "./world.js";

// A script for `hardhat run`: runs every task at the same time on a node, and prints a
// line for each that ends. Nothing ends the process: it goes on while a task keeps a
// request, a body or a timer.
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
  everyTaskRun().map(async ({ task, args }) => {
    // A watch goes on until somebody ends it, also without a node.
    if (task !== "watch") {
      await hre.tasks
        .getTask(["vault", ...task.split(" ")])
        .run({ ...args, ...("timeout" in args ? { timeout: "1" } : {}) });
    }
    // Tasks may send to stderr what others write to stdout meanwhile.
    process.stderr.write(`\n<ended> ${task}\n`);
  }),
);

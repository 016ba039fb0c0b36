/**
 * Shows the plugin at work, from nothing: mocks in process, every operation's
 * answer, a settlement, and what it changed. Run it with `npm run demo`.
 */
import hre from "hardhat";

import { toFlag } from "../tasks/parse-options.js";

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Runs a task the way its command line does, under that command line. */
async function show(
  explanation: string,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const options = Object.entries(args).map(([option, value]) => {
    const flag = toFlag(option);
    return value === true ? flag : `${flag} ${String(value)}`;
  });
  // Positional arguments stand alone on a command line.
  const shown =
    name === "order" || name === "request"
      ? Object.values(args).map(String)
      : options;
  say(`\n${explanation}`);
  say(["$ npx hardhat vault", name, ...shown].join(" "));
  await hre.tasks.getTask(["vault", name]).run(args);
  if (process.exitCode !== undefined && process.exitCode !== 0) {
    throw new Error(`vault ${name} failed`);
  }
}

say(`hardhat-vault in one minute
===========================

An options/vault protocol lives in six contracts: an underlying asset (funding
fee rate), a public and a private liquidity pool, trading (orders), a vault
factory (the latest round) and the vault itself (margins, volume, settlement).
Your tests rarely have them. So this demo starts an empty chain in this process
and deploys six mocks with canned data:`);

const mocks = await hre.vault.deployMocks();

say(`
  const mocks = await hre.vault.deployMocks();`);
for (const [role, address] of Object.entries(mocks.addresses)) {
  say(`  ${role.padEnd(16)}${address}`);
}

await show("Every reading, at one block:", "status");
await show("One order:", "order", { id: "1" });
await show("What the next round would cost its issuer:", "margins", {
  maxVolume: "1000",
  apy: "12.5",
  endTime: "+7d",
});
await show("The same figures for a program:", "volume", { json: true });
await show(
  "The request behind a figure, byte for byte (nothing is sent):",
  "request",
  { operation: "queryVolume" },
);
await show(
  "Settling is the one thing that changes state. It is simulated first, asks\n(here --yes answers), is sent once, and reports the round before and after:",
  "settle",
  { yes: true },
);
await show("The round is settled now:", "round");

const again = await hre.vault.settleAll();
say(`
A second settlement does nothing:
  (await hre.vault.settleAll()).status   // "${again.status}"

Next: \`npx hardhat vault --help\` lists the tasks, README.md explains them.`);

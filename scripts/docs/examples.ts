/**
 * The commands whose output docs/tasks.md shows, in the order in which they
 * run: all on one chain, so what one does the next one sees.
 */
import { runTyped } from "../../test/helpers/run-vault-task.js";
import { onDocumentedNode } from "./documented-node.js";

const commands = [
  "deploy-mocks",
  "status",
  "funding-rate",
  "funding-rate --type call --json",
  "round",
  "round --json",
  "order 3",
  "orders",
  "orders --ids 1,3",
  "orders --ids 1-3 --format csv",
  "pools",
  "margins --max-volume 1000 --apy 12.5 --end-time +7d",
  "volume",
  "margin-balance",
  "min-margin",
  "capture --out fixture.json --ids 1-3",
  "request queryVolume --at vault=0x5FC8d32690cc91D4c39d9d3abcBD16989F875707",
  "decode 0xb6624fb000000000000000000000000000000000000000000000003635c9adc5dea0000000000000000000000000000000000000000000000000000001bc16d674ec8000000000000000000000000000000000000000000000000000000000006b0a954a",
  "doctor",
  "report --out report.html --ids 1-3 --rounds",
  "watch --until +1s --interval 1",
  "simulate",
  "settle --yes",
  "rounds",
  "mock next-round strikePrice=66000e18",
  "mock set volume=420e18 orders.9.exType=SOL-USDT orders.9.state=closed",
  "mock fail settleAll paused",
  "mock succeed settleAll",
  "deploy-guard --yes",
] as const;

/** A command as it is typed, and what it prints on stdout and stderr. */
export type Examples = ReadonlyMap<string, string>;

/**
 * Runs every command against an anvil of its own.
 *
 * @throws Error for a command that fails
 */
export async function recordExamples(): Promise<Examples> {
  return await onDocumentedNode(async ({ hre }) => {
    const examples = new Map<string, string>();
    for (const command of commands) {
      const typed = `npx hardhat vault ${command} --network localhost`;
      const { stdout, stderr, exitCode } = await runTyped(hre, command);
      if (exitCode !== 0) {
        throw new Error(`${typed}\n${stdout}${stderr}`);
      }
      examples.set(typed, `${stderr}${stdout}`.trimEnd());
    }
    return examples;
  });
}

/** The examples that a document has already. */
export function readExamples(document: string): Examples {
  return new Map(
    [...document.matchAll(/```console\n\$ (.*)\n([\s\S]*?)\n```/gu)].map(
      ([, typed = "", output = ""]) => [typed, output],
    ),
  );
}

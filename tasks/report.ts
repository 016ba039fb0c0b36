import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { assertInvariant, fallbackTo } from "../src/errors.js";
import { findSender } from "../src/plugin/sender.js";
import { contractRoleNames } from "../src/protocol/index.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import { taskArguments } from "./arguments.js";
import type { ArgumentsOf } from "./arguments.js";
import { readAction } from "./open-vault.js";
import { notes, title } from "./output/blocks.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { selectedNetwork } from "./parse-arguments.js";
import { countFailures, renderReport } from "./report/render.js";
import type { Report } from "./report/render.js";
import type { TaskReport, TaskSurroundings } from "./run-task.js";
import { simulateToShow } from "./simulate.js";

const DEFAULT_FILE = "vault-report.html";

export default readAction(taskArguments.report, report);

/** Writes a page about a vault at one block to a file, whole or not at all. */
async function report(
  vault: HardhatVault,
  args: ArgumentsOf<"report">,
  surroundings: TaskSurroundings,
): Promise<TaskReport> {
  const { out = DEFAULT_FILE } = args;
  let found: Report | undefined;
  async function* pieces(): AsyncGenerator<string> {
    found = await gather(vault, args, surroundings);
    yield renderReport(found);
  }
  await writeToFile(pieces(), out);
  assertInvariant(found !== undefined, "nothing was reported");
  const { envelope } = found;
  const failures = countFailures(found);
  return {
    json: { ...envelope, file: out },
    ok: failures === 0,
    blocks: [
      title("Vault report", envelope),
      notes(
        `Written to ${escapeUntrusted(out)}.`,
        ...(failures === 0
          ? []
          : [
              {
                text: `${describeCount(failures, "reading")} failed; the page says which.`,
                tone: "bad",
              } as const,
            ]),
      ),
    ],
  };
}

/** Reads all that the page shows, at the block of the snapshot. */
async function gather(
  vault: HardhatVault,
  { ids, block: blockTag, from, raw, rounds, simulate }: ArgumentsOf<"report">,
  { hre, terminal }: TaskSurroundings,
): Promise<Report> {
  const { config } = selectedNetwork(hre);
  const snapshot = await vault.snapshot({ blockTag, from });
  const { chainId, block } = snapshot;
  return {
    envelope: { network: vault.networkName, chainId, block },
    instance: vault.instanceName,
    contracts: await locateContracts(vault),
    snapshot,
    context: { ...vault.settings, chainTime: block.timestamp, raw },
    orders:
      ids === undefined
        ? undefined
        : await Array.fromAsync(
            vault.orders({
              ids: ids.toSorted((one, other) => (one < other ? -1 : 1)),
              from,
              blockTag: block.number,
              onProgress: (far) => {
                terminal.progress("Reading orders", far);
              },
            }),
          ),
    rounds: rounds
      ? await Promise.all(
          (
            await Array.fromAsync(
              vault.rounds({
                toBlock: block.number,
                from,
                onProgress: (far) => {
                  terminal.progress("Reading blocks", far);
                },
              }),
            )
          ).map(async (round) => ({
            ...round,
            settledTime:
              round.settledBlock === null
                ? undefined
                : (await vault.block(round.settledBlock)).timestamp,
          })),
        )
      : undefined,
    simulation: simulate
      ? await simulateToShow(vault, {
          as: from ?? (await findSender(vault.rpc, config, "from")),
          // In process, there is no other block than the newest.
          blockNumber:
            config.type === "http" ||
            (blockTag !== undefined && blockTag !== "latest")
              ? block.number
              : undefined,
        })
      : undefined,
  };
}

/** Where the contracts are that have an address. */
async function locateContracts(
  vault: HardhatVault,
): Promise<Report["contracts"]> {
  // At once, so that what deploy-mocks wrote is looked up once for all of them.
  const located = await Promise.all(
    contractRoleNames.map(
      async (role) =>
        await vault.addressOf(role).then(
          (address) => [[role, address] as const],
          // The read that needs it says why there is none.
          fallbackTo([]),
        ),
    ),
  );
  return new Map(located.flat());
}

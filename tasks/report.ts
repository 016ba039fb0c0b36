import { requireFixedBlock } from "../src/client/inputs.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { assertInvariant, invalidArgument, fallbackTo } from "../src/errors.js";
import { contractRoleNames } from "../src/protocol/index.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import type { ArgumentsOf } from "./arguments.js";
import { readAction, selectedNetwork } from "./open-vault.js";
import { notes, title } from "./output/blocks.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { describeProgress } from "./output/waiting.js";
import { parseOrderIds, parseReadTarget } from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import { countFailures, renderReport } from "./report/render.js";
import type { Report } from "./report/render.js";
import type { ReadSurroundings } from "./open-vault.js";
import type { TaskReport } from "./run-task.js";
import { simulateToShow } from "./simulate.js";

const DEFAULT_FILE = "vault-report.html";

interface ReportRequest extends ReadTarget {
  readonly out: string;
  /** Undefined for a page without orders. */
  readonly orders: readonly bigint[] | undefined;
}

export default readAction(parseReportArguments, report);

/**
 * Reads the options, before any request.
 *
 * @throws VaultError of the argument that is wrong
 */
export function parseReportArguments(
  args: ArgumentsOf<"report">,
): ReportRequest {
  const { out = DEFAULT_FILE, orders } = args;
  if (out === "") {
    throw invalidArgument("--out", "a file name is needed, and it is empty");
  }
  const target = parseReadTarget(args);
  requireFixedBlock(target.blockTag, "--block");
  return {
    ...target,
    out,
    orders:
      orders === undefined
        ? undefined
        : parseOrderIds(orders).toSorted((one, other) =>
            one < other ? -1 : 1,
          ),
  };
}

/** Writes a page about a vault at one block to a file, whole or not at all. */
async function report(
  vault: HardhatVault,
  request: ReportRequest,
  surroundings: ReadSurroundings<ArgumentsOf<"report">>,
): Promise<TaskReport> {
  const { out } = request;
  let found: Report | undefined;
  async function* pieces(): AsyncGenerator<string> {
    found = await gather(vault, request, surroundings);
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
  { orders, blockTag, from }: ReportRequest,
  { args, hre, say, findSender }: ReadSurroundings<ArgumentsOf<"report">>,
): Promise<Report> {
  const { raw, rounds, simulate } = args;
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
      orders === undefined
        ? undefined
        : await Array.fromAsync(
            vault.orders({
              ids: orders,
              from,
              blockTag: block.number,
              onProgress: (far) => {
                say(describeProgress("Reading orders", far));
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
                  say(describeProgress("Reading blocks", far));
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
          as: from ?? (await findSender("from")),
          // In process, there is no other block than the newest.
          blockNumber:
            config.type === "http" || blockTag !== "latest"
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

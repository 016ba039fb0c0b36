import type { NewTaskActionFunction } from "hardhat/types/tasks";

import type { ListedOrder, PastRound } from "../src/client/index.js";
import { requireFixedBlock } from "../src/client/inputs.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { VaultError, vaultError } from "../src/errors.js";
import { findSender } from "../src/plugin/sender.js";
import { contractRoleNames, contractRoles } from "../src/protocol/index.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import { findKnownAccounts } from "./known-accounts.js";
import type { KnownAccounts } from "./known-accounts.js";
import { selectedNetwork, withVault } from "./open-vault.js";
import { writeToFile } from "./output/destination.js";
import { describeCount } from "./output/format-value.js";
import { renderHeading } from "./output/heading.js";
import { startProgress } from "./output/progress.js";
import type { ProgressStream } from "./output/progress.js";
import { wrapText } from "./output/table.js";
import { parseOrderIds, parseReadTarget } from "./parse-options.js";
import type { ReadTarget } from "./parse-options.js";
import type { ReadTaskArguments } from "./read.js";
import { countFailures, renderReport } from "./report/render.js";
import type { Report } from "./report/render.js";
import { runTask } from "./run-task.js";
import type { TaskReport } from "./run-task.js";
import { rehearseToShow } from "./simulate.js";

const DEFAULT_FILE = "vault-report.html";

export interface ReportTaskArguments extends ReadTaskArguments {
  readonly out: string | undefined;
  readonly orders: string | undefined;
  readonly rounds: boolean;
  readonly simulate: boolean;
}

interface ReportRequest {
  readonly out: string;
  readonly target: ReadTarget;
  readonly raw: boolean;
  /** Undefined for a page without orders. */
  readonly orders: readonly bigint[] | undefined;
  readonly rounds: boolean;
  /** True where `--block` names one, and not the latest. */
  readonly isPast: boolean;
  readonly simulate: boolean;
}

const action: NewTaskActionFunction<ReportTaskArguments> = async (args, hre) =>
  await runTask(args, async () => {
    const request = parseReportArguments(args);
    const { name, config } = selectedNetwork(hre);
    return await withVault(
      hre,
      "read",
      args,
      async (opened, { stderr }) => {
        // One deadline for all that it asks.
        const vault = opened.during({ timeout: request.target.timeout });
        return await report(vault, request, {
          accounts: await findKnownAccounts(hre, vault),
          sender: async () => await findSender(vault.provider, name, config),
          stderr,
        });
      },
      request.target.timeout,
    );
  });

export default action;

/**
 * Reads the options, before any request.
 *
 * @throws VaultError of the argument that is wrong
 */
export function parseReportArguments(args: ReportTaskArguments): ReportRequest {
  const { out = DEFAULT_FILE, orders, raw, rounds, simulate, block } = args;
  if (out === "") {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: "--out",
      problem: "a file name is needed, and it is empty",
    });
  }
  const target = parseReadTarget(args);
  requireFixedBlock(target.blockTag, "--block");
  return {
    out,
    target,
    raw,
    orders: orders === undefined ? undefined : parseOrderIds(orders),
    rounds,
    isPast: block !== undefined && block !== "latest",
    simulate,
  };
}

/** What a report takes beside the vault. */
interface ReportSurroundings {
  readonly accounts: KnownAccounts;
  /** Who settles in a rehearsal, unless `--from` says. */
  readonly sender: () => Promise<string | undefined>;
  readonly stderr: ProgressStream;
}

/** Writes a page about a vault at one block to a file, whole or not at all. */
export async function report(
  vault: HardhatVault,
  request: ReportRequest,
  surroundings: ReportSurroundings,
): Promise<TaskReport> {
  const { out } = request;
  let found: Report | undefined;
  async function* pieces(): AsyncGenerator<string> {
    found = await gather(vault, request, surroundings);
    yield renderReport(found);
  }
  await writeToFile(pieces(), out, surroundings.stderr);
  if (found === undefined) {
    throw vaultError("VAULT_INTERNAL", { problem: "nothing was reported" });
  }
  const { envelope } = found;
  const failures = countFailures(found);
  return {
    json: { ...envelope, file: out },
    ok: failures === 0,
    text: (style) =>
      [
        renderHeading("Vault report", envelope, style),
        wrapText(`Written to ${escapeUntrusted(out)}.`, style),
        ...(failures === 0
          ? []
          : [
              style.bad(
                `${describeCount(failures, "reading")} failed; the page says which.`,
              ),
            ]),
      ].join("\n"),
  };
}

/** Reads all that the page shows, at the block of the snapshot. */
async function gather(
  vault: HardhatVault,
  { target, raw, orders, rounds, isPast, simulate }: ReportRequest,
  { accounts, sender, stderr }: ReportSurroundings,
): Promise<Report> {
  const snapshot = await vault.snapshot(target);
  const { chainId, block } = snapshot;
  const pinned = { ...target, blockTag: block.number };
  const contracts = await findContracts(vault);
  const isHttp = vault.connection.networkConfig.type === "http";
  return {
    envelope: { network: vault.networkName, chainId, block },
    instance: vault.instanceName,
    contracts,
    snapshot,
    context: {
      ...vault.settings,
      chainTime: block.timestamp,
      raw,
      accounts: new Map([
        ...[...contracts].map(
          ([role, { address }]) =>
            [address, `${contractRoles[role].label} contract`] as const,
        ),
        ...accounts,
      ]),
    },
    orders:
      orders === undefined
        ? undefined
        : await readOrders(vault, orders, pinned, stderr),
    rounds: rounds ? await readRounds(vault, pinned, stderr) : undefined,
    rehearsal: simulate
      ? await rehearseToShow(vault, {
          as: target.from ?? (await sender()),
          // In process, there is no other block than the newest.
          blockNumber: isHttp || isPast ? block.number : undefined,
        })
      : undefined,
  };
}

/** Where the contracts are that have an address. */
async function findContracts(
  vault: HardhatVault,
): Promise<Report["contracts"]> {
  const located = await Promise.all(
    contractRoleNames.map(async (role) => {
      try {
        return [[role, await vault.addressOf(role)] as const];
      } catch (error) {
        if (VaultError.isVaultError(error)) {
          // Its readings say what is wrong.
          return [];
        }
        throw error;
      }
    }),
  );
  return new Map(located.flat());
}

async function readOrders(
  vault: HardhatVault,
  ids: readonly bigint[],
  target: ReadTarget,
  stderr: ProgressStream,
): Promise<readonly ListedOrder[]> {
  const progress = startProgress(stderr, { total: ids.length, unit: "orders" });
  const listed: ListedOrder[] = [];
  try {
    for (const { firstId, lastId } of toRanges(ids)) {
      const before = listed.length;
      const orders = vault.orders({
        ...target,
        firstId,
        lastId,
        onProgress: ({ done }) => {
          progress.update(before + done);
        },
      });
      for await (const order of orders) {
        listed.push(order);
      }
    }
  } finally {
    progress.hide();
  }
  return listed;
}

/** Ids as ranges, in ascending order. */
function toRanges(
  ids: readonly bigint[],
): ReadonlyArray<{ readonly firstId: bigint; readonly lastId: bigint }> {
  const ranges: Array<{ readonly firstId: bigint; lastId: bigint }> = [];
  for (const id of [...ids].sort((one, other) => (one < other ? -1 : 1))) {
    const last = ranges.at(-1);
    if (last?.lastId === id - 1n) {
      last.lastId = id;
    } else {
      ranges.push({ firstId: id, lastId: id });
    }
  }
  return ranges;
}

async function readRounds(
  vault: HardhatVault,
  { blockTag, from, timeout }: ReadTarget,
  stderr: ProgressStream,
): Promise<readonly PastRound[]> {
  const progress = startProgress(stderr, {
    total: 1,
    unit: "blocks looked at",
  });
  const rounds: PastRound[] = [];
  try {
    const search = vault.rounds({
      toBlock: blockTag,
      from,
      timeout,
      onProgress: ({ done, total }) => {
        progress.update(done, total);
      },
    });
    for await (const round of search) {
      rounds.push(round);
    }
  } finally {
    progress.hide();
  }
  return rounds;
}

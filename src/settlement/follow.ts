import { VaultError } from "../errors.js";
import {
  PROJECT_FOLDER,
  appendProjectFile,
  reasonOf,
} from "../files/project-file.js";
import type { VaultHost } from "../host.js";
import { noRetries } from "../rpc/retry.js";
import type { Simulation } from "../simulation/types.js";
import { carryOut } from "./carry-out.js";
import { roundChecker } from "./check-round.js";
import type { CheckRound } from "./check-round.js";
import { TimeLimit } from "./freshness.js";
import type { Journal, JournalEntry } from "./journal.js";
import type { ParsedOptions } from "./options.js";
import { signReplacement } from "./replace.js";
import { report } from "./report.js";
import { toSettlement } from "./result.js";
import type { Outcome, SettlementResult } from "./result.js";
import { describeProblem } from "./send.js";

/** Minimum time to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;
/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;

/** Every settlement that was sent and has ended, one JSON document a line. */
const LOG_FILE = `${PROJECT_FOLDER}/settlements.ndjson`;
/** Only the owner reads and writes it. */
const LOG_MODE = 0o600;

export interface Followed {
  readonly journal: Journal;
  readonly entry: JournalEntry;
  readonly preview: Simulation | null;
  /** The check after which it is sent; undefined if it may have been sent before. */
  readonly sending?: { readonly check: CheckRound; readonly checkedAt: number };
}

/**
 * Sends or resumes a settlement, and follows it to its outcome. Never throws: after a
 * failure the transaction may have left, so the outcome has its hash.
 */
export async function follow(
  vault: VaultHost,
  { journal, entry, preview, sending }: Followed,
  options: ParsedOptions,
): Promise<SettlementResult> {
  const { emit, confirmations } = options;
  const limit = new TimeLimit(options.timeoutMs);
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const { outcome, transactions, hashes } = await carryOut(
    {
      network: vault.networkName,
      transactions: entry.transactions,
      sentAfterBlock: entry.sentAfterBlock,
      checkedAt: sending?.checkedAt,
      requestedReplacement: options.replacement,
      confirmations,
      timeBeforeBumpingFees,
      maxFeeBumps,
    },
    {
      ...options,
      limit,
      rpc: vault.rpc.withRetries(noRetries),
      checkRound:
        sending?.check ?? roundChecker(vault, journal, entry, options),
      sign: async (newest, kind) =>
        await signReplacement(vault, options.limits, newest, kind),
      record: async (all) =>
        (await journal.update({ ...entry, transactions: [...all] }))
          ?.transactions,
    },
  );
  try {
    const timeout = Math.max(limit.remaining, LEAST_OUTCOME_MS);
    const reader = vault.withOptions({ timeout });
    const result = withHashes(
      await report(reader, entry, outcome, preview, confirmations),
      outcome.kind === "stopped" ? [] : hashes,
    );
    if (result.isFinal) {
      const ended: JournalEntry = { ...entry, transactions: [...transactions] };
      await finish(vault, journal, ended, result, outcome, emit);
    }
    return result;
  } catch (error) {
    const reason = VaultError.isVaultError(error)
      ? error.message
      : String(error);
    const hash = transactions.at(-1)?.hash;
    const why = { status: "unconfirmed", reason, hash } as const;
    const settlement = toSettlement(why, { ...entry, preview });
    const { chainId } = entry.transactions[0];
    return withHashes({ settlement, isFinal: false, chainId }, hashes);
  }
}

function withHashes(
  result: SettlementResult,
  known: readonly string[],
): SettlementResult {
  const { settlement } = result;
  const { hash } = settlement;
  const hashes = [...new Set(hash === null ? known : [...known, hash])];
  return { ...result, settlement: { ...settlement, hashes } };
}

/** Writes the outcome to the log and to the journal, which it releases. */
async function finish(
  { context, networkName, instanceName }: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  { settlement, chainId, block }: SettlementResult,
  outcome: Outcome,
  emit: ParsedOptions["emit"],
): Promise<void> {
  const warn = (message: string): void => {
    emit({ type: "trouble", message });
  };
  if (journal.isKept && outcome.kind !== "stopped") {
    const line = {
      time: new Date().toISOString(),
      ...{ network: networkName, chainId, vault: journal.vault },
      ...{ instance: instanceName ?? null, block: block ?? null, settlement },
    };
    const { root } = context.config.paths;
    // First: what a process that is killed in between has done, `resume` finishes.
    await appendProjectFile(root, LOG_FILE, line, LOG_MODE).catch(
      (error: unknown) => {
        warn(`the settlement was not added to the log: ${reasonOf(error)}`);
      },
    );
  }
  const { status, blockNumber, hash } = settlement;
  const mined =
    blockNumber === null || hash === null
      ? undefined
      : { status, blockNumber, hash };
  const mayStillArrive =
    outcome.kind === "dropped" && outcome.mayStillArrive === true
      ? true
      : undefined;
  await journal
    .finish({ ...entry, mined, mayStillArrive })
    .catch((error: unknown) => {
      warn(describeProblem(error));
    });
}

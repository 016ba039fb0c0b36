import { VaultError } from "../errors.js";
import {
  PROJECT_FOLDER,
  appendProjectFile,
  readProjectLines,
  reasonOf,
} from "../files/project-file.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { Hex } from "../protocol/index.js";
import type { Simulation } from "../simulation/types.js";
import type { CarriedOut } from "./carry-out.js";
import type { TimeLimit } from "./time-limit.js";
import type { Journal } from "./journal.js";
import type { JournalEntry } from "./journal-file.js";
import type { ParsedOptions } from "./options.js";
import { describeEnd } from "./report.js";
import { toSettlement } from "./result.js";
import type { Outcome, SettlementResult } from "./result.js";
import { describeProblem } from "./send.js";
import { newestOf } from "./transaction.js";
import type { Settlement } from "./types.js";

/** Minimum time to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;
/** Every settlement that was sent and has ended, one JSON document a line. */
const LOG_FILE = `${PROJECT_FOLDER}/settlements.ndjson`;
/** Only the owner reads and writes it. */
const LOG_MODE = 0o600;

/** Describes the end, writes it to the log, and releases the journal. Never throws. */
export async function conclude(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  { outcome, state: { transactions, hashes } }: CarriedOut,
  preview: Simulation | null,
  limit: TimeLimit,
  { emit, confirmations }: ParsedOptions,
): Promise<SettlementResult> {
  try {
    const timeout = Math.max(limit.remaining, LEAST_OUTCOME_MS);
    const reader = vault.withOptions({ timeout });
    const result = withHashes(
      await describeEnd(reader, entry, outcome, preview, confirmations),
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
    const { hash } = newestOf({ transactions });
    const why = { status: "unconfirmed", reason, hash } as const;
    const settlement = toSettlement(why, { ...entry, preview });
    const { chainId } = entry.transactions[0];
    return withHashes({ settlement, isFinal: false, chainId }, hashes);
  }
}

function withHashes(
  result: SettlementResult,
  known: readonly Hex[],
): SettlementResult {
  const { settlement } = result;
  const { hash } = settlement;
  const hashes = [...new Set(hash === null ? known : [...known, hash])];
  return { ...result, settlement: { ...settlement, hashes } };
}

/** True if a process that was killed before it released the journal has written the line. */
async function isLogged(
  root: string,
  { resumed }: JournalEntry,
  { hash, status }: Settlement,
): Promise<boolean> {
  if (resumed !== true || hash === null) {
    return false;
  }
  const lines = await readProjectLines(root, LOG_FILE).catch(() => []);
  return lines.some((line) => {
    const logged = asRecord(asRecord(line)["settlement"]);
    return logged["hash"] === hash && logged["status"] === status;
  });
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
  const { root } = context.config.paths;
  if (
    journal.isKept &&
    outcome.kind !== "stopped" &&
    !(await isLogged(root, entry, settlement))
  ) {
    const line = {
      time: new Date().toISOString(),
      ...{ network: networkName, chainId, vault: journal.vault },
      ...{ instance: instanceName ?? null, block: block ?? null, settlement },
    };
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
  const writing =
    outcome.kind === "stopped"
      ? journal.abandon(entry)
      : journal.finish({ ...entry, mined, mayStillArrive });
  await writing.catch((error: unknown) => {
    warn(describeProblem(error));
  });
}

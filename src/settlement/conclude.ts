import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Hex } from "../protocol/index.js";
import type { Simulation } from "../simulation/types.js";
import type { Following, Outcome } from "../sending/follow.js";
import type { TimeLimit } from "../sending/time-limit.js";
import type { Journal, JournalEntry } from "../sending/journal.js";
import type { ParsedOptions } from "./options.js";
import { describeEnd } from "./report.js";
import { toSettlement } from "./result.js";
import type { SettlementResult } from "./result.js";
import { describeProblem } from "../sending/send.js";
import { newestOf } from "../sending/transaction.js";
import type { Settlement } from "./types.js";

/** Minimum time to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;

/** The end of the transactions, and every hash that they had. */
interface Followed extends Pick<Following, "hashes" | "transactions"> {
  readonly outcome: Outcome;
}

/** Describes the end, and releases the journal. Never throws. */
export async function conclude(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  { outcome, transactions, hashes }: Followed,
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
      const isSent = outcome.kind !== "stopped";
      await finish(journal, ended, result.settlement, isSent, emit);
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

/** Writes the outcome to the journal, which it releases. */
async function finish(
  journal: Journal,
  entry: JournalEntry,
  { status, blockNumber, hash }: Settlement,
  isSent: boolean,
  emit: ParsedOptions["emit"],
): Promise<void> {
  const mined =
    blockNumber === null || hash === null
      ? undefined
      : { status, blockNumber, hash };
  const writing = isSent
    ? journal.finish({ ...entry, mined })
    : journal.abandon(entry);
  await writing.catch((error: unknown) => {
    emit({ type: "trouble", message: describeProblem(error) });
  });
}

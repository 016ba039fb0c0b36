// From the journal on: a settlement is sent, followed, described and released.

import type { VaultHost } from "../host.js";
import { noRetries } from "../rpc/rpc-client.js";
import { Following } from "../sending/follow.js";
import { TimeLimit } from "../sending/job.js";
import type { Job } from "../sending/job.js";
import type { Journal, JournalEntry } from "../sending/journal.js";
import { signReplacement } from "../sending/replace.js";
import { describeProblem } from "../sending/transaction.js";
import type { Simulation } from "../simulation/types.js";
import { roundChecker } from "./current-round.js";
import { describeEnd } from "./effect.js";
import { defaultConfirmations } from "./options.js";
import type { ParsedOptions } from "./options.js";
import type { SettlementResult } from "./settlement-result.js";
import type { Settlement } from "./types.js";

/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;
/** Milliseconds to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;

/**
 * Sends the transaction of the journal, or looks for it after a resume; follows it until the
 * end, and reports that. Never throws: after a failure it may have left.
 *
 * If nothing more can be found out, the journal is released: the next settlement may begin.
 * Else it stays, to be resumed.
 */
export async function followToEnd(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  options: ParsedOptions,
  preview: Simulation | null = null,
): Promise<SettlementResult> {
  const limit = new TimeLimit(options.timeoutMs);
  const following = new Following(jobOf(vault, journal, entry, limit, options));
  for (;;) {
    const outcome = await following.toEnd();
    const { transactions } = following;
    const ended: JournalEntry = { ...entry, transactions };
    const result = await describeEnd(
      vault,
      { entry: ended, outcome, preview },
      Math.max(limit.remaining, LEAST_OUTCOME_MS),
    );
    if (result.isFinal) {
      await (
        outcome.kind === "stopped"
          ? journal.abandon(ended)
          : finish(journal, ended, result.settlement)
      ).catch((error: unknown) => {
        options.emit({ type: "trouble", message: describeProblem(error) });
      });
    }
    // Mined, but its block or its effect cannot be read: a re-org may have moved it.
    if (result.isFinal || outcome.kind !== "mined" || limit.isOver) {
      return result;
    }
  }
}

function jobOf(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  limit: TimeLimit,
  options: ParsedOptions,
): Job {
  const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
    vault.settlementSettings;
  const reader = vault.withOptions({ signal: limit.signal });
  return {
    rpc: reader.rpc.withRetries(noRetries),
    transactions: entry.transactions,
    isResumed: entry.resumed === true,
    sentAfterBlock: entry.sentAfterBlock,
    confirmations:
      options.confirmations ?? defaultConfirmations(vault, journal.chainKind),
    limit,
    pollingIntervalMs: options.pollingIntervalMs,
    emit: options.emit,
    checkRound: roundChecker(reader, {
      intended: entry.round,
      ifExpired: options.ifExpired || entry.ifExpired === true,
    }),
    record: async (all) =>
      await journal.update({ ...entry, transactions: all }),
    replacing: {
      requested: options.replacement,
      // A person who resumes decides about the fee.
      timeBeforeBumpingFees:
        options.resume === true ? undefined : timeBeforeBumpingFees,
      maxFeeBumps,
      sign: async (newest, kind) =>
        await signReplacement(vault, newest, kind, options),
    },
  };
}

/** Writes the end to the journal. */
async function finish(
  journal: Journal,
  entry: JournalEntry,
  { status, code, blockNumber, hash }: Settlement,
): Promise<void> {
  const mined =
    blockNumber === null || hash === null
      ? undefined
      : { status, blockNumber, hash, ...(code !== null && { code }) };
  await journal.finish({ ...entry, mined });
}

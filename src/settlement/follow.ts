import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { Deadline } from "../rpc/deadline.js";
import { noRetries } from "../rpc/retry.js";
import type { Simulation } from "../simulation/types.js";
import { followTransaction } from "./follow-transaction.js";
import type { Journal, JournalEntry } from "./journal.js";
import { LastLook } from "./last-look.js";
import { outcome, report } from "./report.js";
import type { Ended } from "./report.js";
import type { Stop } from "./types.js";
import type { Waiting } from "./waiting.js";

/** Minimum time to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;

/**
 * Sends or resumes a settlement, and follows it to its outcome. Never throws: after a
 * failure the transaction may have left, so the outcome has its hash.
 */
export async function follow(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  start: "send" | "find",
  { timeoutMs, ifExpired, ...waiting }: Waiting,
  previewed: Simulation | null,
  look = new LastLook(vault, entry.round, { ifExpired, acceptsOldHead: false }),
): Promise<Ended> {
  const deadline = new Deadline(timeoutMs);
  let current = entry;
  const record = async (isFinished: boolean): Promise<void> => {
    await journal.update(current, isFinished).catch((error: unknown) => {
      waiting.emit({ type: "trouble", message: describeThrown(error) });
    });
  };
  try {
    const { transaction, sentAfterBlock } = entry;
    const end = await followTransaction(
      // followTransaction has its own retries.
      vault.rpc.withRetries(noRetries),
      { ...transaction, sentAfterBlock },
      start,
      {
        ...waiting,
        deadline,
        checkRound: async (block) => await look.check(block),
        isCheckRecent: () => look.isRecent,
        onHash: async (hash) => {
          // Signed bytes keep the hash that the journal has.
          if (transaction.raw === undefined) {
            current = { ...entry, transaction: { ...transaction, hash } };
            await record(false);
          }
        },
      },
    );
    const timeout = Math.max(deadline.remaining, LEAST_OUTCOME_MS);
    const reader = vault.withDeadline({ timeout });
    const { confirmations } = waiting;
    const ended = await report(reader, entry, end, previewed, confirmations);
    if (ended.isFinal) {
      const { status, blockNumber } = ended.settlement;
      const mined = blockNumber === null ? undefined : { status, blockNumber };
      current = { ...current, mined };
      await record(true);
    }
    return ended;
  } catch (error) {
    const reason = describeThrown(error);
    const { hash } = current.transaction;
    const why: Stop = { status: "unconfirmed", reason, hash };
    const settlement = outcome(why, entry.round, previewed);
    const { chainId } = entry.transaction;
    return { settlement, isFinal: false, chainId };
  }
}

function describeThrown(error: unknown): string {
  return VaultError.isVaultError(error) ? error.message : String(error);
}

import { setTimeout as sleep } from "node:timers/promises";

import { VaultError } from "../errors.js";
import { conclude } from "./conclude.js";
import type { SettlementContext } from "./context.js";
import type { JournalEntry } from "./journal.js";
import { pursue } from "./follow-transaction.js";
import type { Pursued } from "./follow-transaction.js";
import type { Settlement } from "./types.js";

/** Milliseconds; a node that mines at once has done so by then. */
const FIRST_LOOK_AFTER = 100;

/**
 * Sends a prepared settlement, or takes up one that may be on its way, and
 * follows it to its outcome.
 *
 * From here on the transaction may have left, so that nothing is thrown: every
 * failure is an outcome that has the hash.
 */
export async function execute(
  context: SettlementContext,
  entry: JournalEntry,
  start: "send" | "look",
): Promise<Settlement> {
  const { chain, confirmations, pollingInterval, emit } = context;
  const deadline = context.newDeadline();
  let current = entry;
  const record = async (change: Partial<JournalEntry>): Promise<void> => {
    current = { ...current, ...change };
    try {
      await context.journal?.update(current);
    } catch (error) {
      emit({ type: "trouble", message: messageOf(error) });
    }
  };
  try {
    const pursued = await pursue(
      {
        chain,
        confirmations,
        deadline,
        pollingInterval,
        firstLookAfter:
          context.journal === undefined
            ? 0
            : Math.min(FIRST_LOOK_AFTER, pollingInterval),
        emit,
        // What was finished once is not begun again by a resume.
        maySendAgain: !entry.finished,
        transaction: {
          ...entry.transaction,
          sentAfterBlock: entry.sentAfterBlock,
        },
        checkRound: async () => await context.checkRound(entry.round),
        onHash: async (hash) => {
          // The signed bytes stay those of the hash they were journalled with.
          if (current.transaction.raw === undefined) {
            await record({ transaction: { ...current.transaction, hash } });
          }
        },
      },
      start,
    );
    const { settlement, isFinal } = await outcomeOf(context, entry, pursued);
    if (isFinal) {
      await record({ finished: true });
    }
    return settlement;
  } catch (error) {
    return unconfirmed(entry, current.transaction.hash, messageOf(error));
  }
}

async function outcomeOf(
  context: SettlementContext,
  entry: JournalEntry,
  pursued: Pursued,
): Promise<{ settlement: Settlement; isFinal: boolean }> {
  switch (pursued.kind) {
    case "mined": {
      const { from, to, data } = entry.transaction;
      return await conclude(
        {
          chain: context.chain,
          call: { from, to, data },
          before: entry.round,
          readRound: context.readRound,
          readRoundNow: async () => await context.readRoundNow(),
          pause: async () => {
            await sleep(context.pollingInterval);
          },
        },
        pursued.receipt,
      );
    }
    case "open":
      return {
        settlement: {
          ...unconfirmed(
            entry,
            pursued.hash,
            `${pursued.reason} ${context.journal === undefined ? "" : "`vault settle --resume` takes it up again."}`.trim(),
          ),
          blockNumber: pursued.receipt?.blockNumber ?? null,
          gasUsed: pursued.receipt?.gasUsed ?? null,
        },
        isFinal: false,
      };
    case "over":
      return {
        settlement: {
          ...unconfirmed(entry, pursued.hash, pursued.reason),
          status: pursued.status,
        },
        isFinal: true,
      };
  }
}

/** The outcome of a settlement that may be on its way. */
export function unconfirmed(
  { round }: JournalEntry,
  hash: string | undefined,
  reason: string,
): Settlement {
  return {
    status: "unconfirmed",
    reason,
    hash: hash ?? null,
    blockNumber: null,
    gasUsed: null,
    before: round,
    after: null,
  };
}

function messageOf(error: unknown): string {
  return VaultError.isVaultError(error) ? error.message : String(error);
}

import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { getNextBlock } from "../rpc/blocks.js";
import { unlessAborted } from "../rpc/signals.js";
import {
  TimeLimit,
  isRecent,
  lateAnswer,
  staleAge,
  staleHead,
} from "./freshness.js";
import type { Journal } from "./journal.js";
import type { JournalEntry } from "./journal-file.js";
import { findObstacle, observe } from "./observe.js";
import type { ParsedOptions } from "./options.js";
import type { Stopped } from "./result.js";
import { describeProblem } from "./send.js";

export interface RoundCheck {
  /** The obstacle to settling the round, if there is one. */
  readonly obstacle: Stopped | undefined;
  /** Before its requests, Unix milliseconds. */
  readonly askedAt: number;
}

/**
 * Checks the round before a transaction leaves. The result counts only for a moment: the
 * process may be suspended meanwhile.
 *
 * @param at Default: the newest block, which must be recent.
 * @throws VaultError VAULT_LATE_ANSWER, VAULT_STALE_HEAD, VAULT_CHAIN_CHANGED, and errors
 * of a request
 */
export type CheckRound = (at?: number) => Promise<RoundCheck>;

/** @param acceptsOldHead True if a person agreed to settle on an old block. */
export function roundChecker(
  vault: VaultHost,
  journal: Journal,
  { round: intended }: Pick<JournalEntry, "round">,
  { ifExpired }: Pick<ParsedOptions, "ifExpired">,
  acceptsOldHead = false,
): CheckRound {
  return async (at) => {
    const askedAt = Date.now();
    const [{ block, round, laterRound = round }, clock] = await Promise.all([
      observe(vault, at ?? "latest"),
      at === undefined && ifExpired ? getNextBlock(vault.rpc) : undefined,
      at === undefined ? journal.requireSameChainKind(vault) : undefined,
    ]);
    const time = clock?.next.timestamp ?? block.timestamp;
    // Of two blocks, the later one counts, and which one that is may not be certain.
    const obstacle =
      findObstacle(round, intended, ifExpired, time) ??
      findObstacle(laterRound, intended, ifExpired, time);
    if (at !== undefined || obstacle !== undefined) {
      return { obstacle, askedAt };
    }
    if (!isRecent(askedAt)) {
      throw lateAnswer(vault.networkName);
    }
    const age = acceptsOldHead ? undefined : await staleAge(vault, block);
    if (age !== undefined) {
      throw staleHead(vault, block.number, age);
    }
    return { obstacle, askedAt };
  };
}

/**
 * Checks the round until an answer comes soon enough. If it is not clear then, nothing is
 * sent, and the journal is abandoned.
 */
export async function checkOrAbandon(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  options: ParsedOptions,
  acceptsOldHead: boolean,
): Promise<RoundCheck> {
  const { timeoutMs, emit } = options;
  const limit = new TimeLimit(timeoutMs);
  const { signal } = limit;
  const reader = vault.withOptions({ signal });
  const checkRound = roundChecker(
    reader,
    journal,
    entry,
    options,
    acceptsOldHead,
  );
  let isClear = false;
  try {
    for (;;) {
      try {
        const check = await unlessAborted(checkRound(), signal);
        if (check === undefined) {
          throw lateAnswer(vault.networkName);
        }
        isClear = check.obstacle === undefined;
        return check;
      } catch (error) {
        const isLate =
          VaultError.isVaultError(error) && error.code === "VAULT_LATE_ANSWER";
        if (!isLate || limit.isOver) {
          throw error;
        }
      }
    }
  } finally {
    if (!isClear) {
      // Nothing has left, so there is nothing to resume.
      await journal.abandon(entry).catch((error: unknown) => {
        emit({ type: "trouble", message: describeProblem(error) });
      });
    }
  }
}

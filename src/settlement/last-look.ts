import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { getNextBlock } from "../rpc/blocks.js";
import { unlessAborted } from "../rpc/signals.js";
import { isRecent, staleAge, lateAnswer, staleHead } from "./freshness.js";
import type { TimeLimit } from "./freshness.js";
import type { Journal } from "./journal.js";
import { findObstacle, observe } from "./observe.js";
import type { Stopped } from "./outcome.js";

export interface LookRules {
  readonly ifExpired: boolean;
  /** True if a person agreed to settle on an old block. */
  readonly acceptsOldHead: boolean;
}

/** Result of a look at the round. */
export interface RoundCheck {
  /** The obstacle to settling the round, if there is one. */
  readonly obstacle: Stopped | undefined;
  /** Unix milliseconds. */
  readonly answeredAt: number;
}

/**
 * Looks at the round before a transaction leaves. The result counts only for a moment: the
 * process may be suspended meanwhile.
 *
 * @param at Default: the newest block, which must be recent.
 * @throws VaultError VAULT_LATE_ANSWER, VAULT_STALE_HEAD, VAULT_CHAIN_CHANGED, and errors
 * of a request
 */
export type CheckRound = (at?: number) => Promise<RoundCheck>;

export function lastLook(
  vault: VaultHost,
  journal: Journal,
  intended: VaultRound,
  { ifExpired, acceptsOldHead }: LookRules,
): CheckRound {
  return async (at) => {
    const askedAt = Date.now();
    const [{ block, round, laterRound = round }, clock] = await Promise.all([
      observe(vault, at ?? "latest"),
      at === undefined && ifExpired ? getNextBlock(vault.rpc) : undefined,
      at === undefined ? journal.requireSameKind(vault) : undefined,
    ]);
    const answeredAt = Date.now();
    const time = clock?.next.timestamp ?? block.timestamp;
    // Of two blocks, the later one counts, and which one that is may not be certain.
    const obstacle =
      findObstacle(round, intended, ifExpired, time) ??
      findObstacle(laterRound, intended, ifExpired, time);
    if (at !== undefined || obstacle !== undefined) {
      return { obstacle, answeredAt };
    }
    if (!isRecent(askedAt)) {
      throw lateAnswer(vault.networkName);
    }
    const age = acceptsOldHead ? undefined : await staleAge(vault, block);
    if (age !== undefined) {
      throw staleHead(vault, block.number, age);
    }
    return { obstacle, answeredAt };
  };
}

/**
 * Looks until an answer comes soon enough.
 *
 * @throws VaultError VAULT_LATE_ANSWER once the time is over
 */
export async function lookUntil(
  check: CheckRound,
  network: string,
  limit: TimeLimit,
): Promise<RoundCheck> {
  for (;;) {
    try {
      const done = await unlessAborted(check(), limit.signal);
      if (done === undefined) {
        throw lateAnswer(network);
      }
      return done;
    } catch (error) {
      const isLate =
        VaultError.isVaultError(error) && error.code === "VAULT_LATE_ANSWER";
      if (!isLate || limit.isOver) {
        throw error;
      }
    }
  }
}

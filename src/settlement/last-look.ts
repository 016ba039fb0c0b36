import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { getNextBlock } from "../rpc/blocks.js";
import { unlessAborted } from "../rpc/signals.js";
import { isRecent, staleAge, lateAnswer, staleHead } from "./freshness.js";
import type { TimeLimit } from "./freshness.js";
import { findObstacle, observe } from "./observe.js";
import type { Stopped } from "./outcome.js";

export interface LookRules {
  readonly ifExpired: boolean;
  /** True if a person agreed to settle on an old block. */
  readonly acceptsOldHead: boolean;
}

/**
 * The last look at the round before a transaction leaves. It counts only if its answer
 * came soon, and only for a moment: the process may be suspended meanwhile.
 */
export class LastLook {
  #answeredAt = -Infinity;

  constructor(
    private readonly vault: VaultHost,
    private readonly intended: VaultRound,
    private readonly rules: LookRules,
  ) {}

  /** True while a transaction may be sent on the strength of the last look. */
  public get isRecent(): boolean {
    return isRecent(this.#answeredAt);
  }

  /**
   * @param at Default: the newest block, which must be recent.
   * @returns The obstacle to settling the round, or undefined.
   * @throws VaultError VAULT_LATE_ANSWER, VAULT_STALE_HEAD, and errors of a request
   */
  public async check(at?: number): Promise<Stopped | undefined> {
    const { vault, intended, rules } = this;
    const askedAt = Date.now();
    const [{ block, round }, clock] = await Promise.all([
      observe(vault, at ?? "latest"),
      at === undefined && rules.ifExpired ? getNextBlock(vault.rpc) : undefined,
    ]);
    const answeredAt = Date.now();
    const time = clock?.next.timestamp ?? block.timestamp;
    const obstacle = findObstacle(round, intended, rules.ifExpired, time);
    if (at !== undefined || obstacle !== undefined) {
      return obstacle;
    }
    if (!isRecent(askedAt)) {
      throw lateAnswer(vault.networkName);
    }
    const age = rules.acceptsOldHead ? undefined : await staleAge(vault, block);
    if (age !== undefined) {
      throw staleHead(vault, block.number, age);
    }
    this.#answeredAt = answeredAt;
    return undefined;
  }

  /**
   * Looks until an answer comes soon enough.
   *
   * @throws VaultError VAULT_LATE_ANSWER once the time is over
   */
  public async checkUntil(limit: TimeLimit): Promise<Stopped | undefined> {
    for (;;) {
      try {
        const done = await unlessAborted(
          this.check().then((obstacle) => ({ obstacle })),
          limit.signal,
        );
        if (done === undefined) {
          throw lateAnswer(this.vault.networkName);
        }
        return done.obstacle;
      } catch (error) {
        const isLate =
          VaultError.isVaultError(error) && error.code === "VAULT_LATE_ANSWER";
        if (!isLate || limit.isOver) {
          throw error;
        }
      }
    }
  }
}

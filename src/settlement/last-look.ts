import { VaultError, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import type { Deadline } from "../rpc/deadline.js";
import { RECENT_MS, isRecent, maxHeadAge, staleAge } from "./freshness.js";
import { findObstacle, observe } from "./observe.js";
import type { Stop } from "./types.js";

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
  public async check(at?: number): Promise<Stop | undefined> {
    const { vault, intended, rules } = this;
    const askedAt = Date.now();
    const [{ block, round, laterRound = round }, clock] = await Promise.all([
      observe(vault, at ?? "latest"),
      at === undefined && rules.ifExpired ? vault.rpc.nextBlock() : undefined,
    ]);
    const answeredAt = Date.now();
    const time = clock?.next.timestamp ?? block.timestamp;
    const { ifExpired } = rules;
    // Of two blocks, the later one counts, and which one that is may not be certain.
    const obstacle =
      findObstacle(round, intended, ifExpired, time) ??
      findObstacle(laterRound, intended, ifExpired, time);
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
  public async checkUntil(deadline: Deadline): Promise<Stop | undefined> {
    for (;;) {
      try {
        const done = await deadline.within(
          this.check().then((obstacle) => ({ obstacle })),
        );
        if (done === undefined) {
          throw lateAnswer(this.vault.networkName);
        }
        return done.obstacle;
      } catch (error) {
        const isLate =
          VaultError.isVaultError(error) && error.code === "VAULT_LATE_ANSWER";
        if (!isLate || deadline.isOver) {
          throw error;
        }
      }
    }
  }
}

export function lateAnswer(network: string): VaultError {
  const seconds = RECENT_MS / 1_000;
  return vaultError("VAULT_LATE_ANSWER", { network, seconds });
}

export function staleHead(
  vault: VaultHost,
  block: number,
  age: number,
): VaultError {
  const { networkName: network } = vault;
  const limit = maxHeadAge(vault) ?? Infinity;
  return vaultError("VAULT_STALE_HEAD", { network, block, age, limit });
}

import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/development-node.js";

const DEFAULT_MAX_HEAD_AGE = 300;

/** Milliseconds by the wall clock, which goes on while the process is suspended. */
const RECENT_MS = 5_000;

/** Highest age of the newest block in seconds; undefined if it is not checked. */
export function maxHeadAge({
  connection,
  settlementSettings,
}: VaultHost): number | undefined {
  const { maxHeadAge: limit = DEFAULT_MAX_HEAD_AGE } = settlementSettings;
  return connection.networkConfig.type === "http" && limit !== false
    ? limit
    : undefined;
}

/** @returns The block's age in seconds if it exceeds the limit on a live network. */
export async function staleAge(
  vault: VaultHost,
  { timestamp }: BlockInfo,
): Promise<number | undefined> {
  const limit = maxHeadAge(vault);
  const age = Math.floor(Date.now() / 1_000) - timestamp;
  return limit !== undefined &&
    age > limit &&
    !(await isDevelopmentNode(vault.rpc))
    ? age
    : undefined;
}

/** True if at most {@link RECENT_MS} have passed; false if the clock was set back. */
export function isRecent(since: number, now = Date.now()): boolean {
  return Math.abs(now - since) <= RECENT_MS;
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

/** The time that a settlement may take, by a clock that goes on during a suspension. */
export class TimeLimit {
  /** Ends waiting. It comes late by the time that the process was suspended. */
  public readonly signal: AbortSignal;
  readonly #ends: readonly [steady: number, wall: number];

  constructor(milliseconds: number) {
    this.signal = AbortSignal.timeout(Math.ceil(milliseconds));
    this.#ends = [performance.now() + milliseconds, Date.now() + milliseconds];
  }

  /** Milliseconds by the clock that is ahead: the wall clock may be set back. */
  public get remaining(): number {
    const [steady, wall] = this.#ends;
    return this.signal.aborted
      ? 0
      : Math.max(0, Math.min(steady - performance.now(), wall - Date.now()));
  }

  public get isOver(): boolean {
    return this.remaining === 0;
  }
}

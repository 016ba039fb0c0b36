import type { VaultError } from "../errors.js";
import type { Stopped } from "../sending/outcome.js";
import type { Address, VaultRound } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/blocks.js";
import type { Simulation } from "../simulation/types.js";
import type { Settlement } from "./types.js";

/** Settlement with its chain, as the plugin and the tasks take it. */
export interface SettlementResult {
  readonly settlement: Settlement;
  readonly chainId: number;
  /** Block of the round afterwards, else of the last read; undefined if none was read. */
  readonly block?: BlockInfo | undefined;
  /** False if a later check can find more. */
  readonly isFinal: boolean;
  readonly refusal?: VaultError | undefined;
}

/** Thrown by a step that ends a settlement before anything is sent, and by no other code. */
export class Stop extends Error {
  constructor(public readonly why: Stopped) {
    super(why.reason);
  }
}

/** What was known before anything was sent. */
export interface KnownBefore {
  readonly round?: VaultRound | undefined;
  readonly guard?: Address | undefined;
  readonly preview?: Simulation | null | undefined;
}

/** What is known of an end; the others of its values are null. */
export type EndValues = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
};

export function toSettlement(
  end: EndValues,
  { round, guard, preview }: KnownBefore,
): Settlement {
  const { hash = null } = end;
  return {
    status: end.status,
    code: end.code ?? null,
    reason: end.reason ?? null,
    hash,
    hashes: end.hashes ?? (hash === null ? [] : [hash]),
    guard: guard ?? null,
    blockNumber: end.blockNumber ?? null,
    gasUsed: end.gasUsed ?? null,
    cost: end.cost ?? null,
    before: round ?? null,
    after: end.after ?? null,
    preview: preview ?? null,
    differences: end.differences ?? null,
  };
}

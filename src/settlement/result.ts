import { isHexString } from "ethers";

import { refusesSettlement } from "../errors.js";
import type { VaultError } from "../errors.js";
import { refusedBy } from "../guard/outcome.js";
import type { Stopped } from "../guard/outcome.js";
import type { VaultHost } from "../host.js";
import type { Address, Hex, VaultRound } from "../protocol/index.js";
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
  /** True if this run followed a transaction, which may have left. */
  readonly isSent?: boolean;
  readonly refusal?: VaultError | undefined;
}

/** What is known of a settlement before it is sent; each value only from its step on. */
export interface Known {
  chainId?: number;
  block?: BlockInfo;
  round?: VaultRound;
  guard?: Address | undefined;
  preview?: Simulation | null;
  /** Of a transaction that an earlier run sent. */
  hash?: Hex | undefined;
}

/** Thrown by a step that ends a settlement before anything is sent, and by no other code. */
export class Stop extends Error {
  constructor(public readonly why: Stopped) {
    super(why.reason);
  }
}

/**
 * Takes the steps of a settlement until one of them ends it, by a {@link Stop} or by an error
 * with `refuses` in errors.ts.
 *
 * @param steps Fill in what is known.
 */
export async function untilStopped(
  vault: VaultHost,
  steps: (known: Known) => Promise<SettlementResult>,
): Promise<SettlementResult> {
  const known: Known = {};
  try {
    return await steps(known);
  } catch (error) {
    if (!(error instanceof Stop) && !refusesSettlement(error)) {
      throw error;
    }
    const why = error instanceof Stop ? error.why : refusedBy(error);
    // A detail of VAULT_SETTLEMENT_UNFINISHED.
    const { transaction } = why.error?.details ?? {};
    const hash = isHexString(transaction, 32) ? transaction : known.hash;
    return {
      settlement: toSettlement({ ...why, hash }, known),
      isFinal: true,
      chainId: known.chainId ?? (await vault.chainId()),
      block: known.block,
      refusal: why.error,
    };
  }
}

/** The known values of a settlement's end; the others are null. */
export type KnownValues = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
};

export function toSettlement(
  { status, differences = null, ...values }: KnownValues,
  {
    round,
    guard,
    preview = null,
  }: Readonly<Pick<Known, "guard" | "preview" | "round">>,
): Settlement {
  const { hash = null } = values;
  return {
    status,
    code: values.code ?? null,
    reason: values.reason ?? null,
    hash,
    hashes: values.hashes ?? (hash === null ? [] : [hash]),
    guard: guard ?? null,
    blockNumber: values.blockNumber ?? null,
    gasUsed: values.gasUsed ?? null,
    cost: values.cost ?? null,
    before: round ?? null,
    after: values.after ?? null,
    preview: preview === null ? null : { ...preview, differences },
    differences: preview === null ? null : differences,
  };
}

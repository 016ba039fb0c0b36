import { isHexString } from "ethers";

import { refusesSettlement } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Simulation } from "../simulation/types.js";
import { refusedBy } from "./observe.js";
import type { Observation } from "./observe.js";
import { outcome } from "./report.js";
import type { Ended } from "./report.js";
import type { Stop } from "./types.js";

export function refusalOf(error: unknown): Stop {
  if (!refusesSettlement(error)) {
    throw error;
  }
  // A detail of VAULT_SETTLEMENT_UNFINISHED.
  const { transaction } = error.details;
  const hash = isHexString(transaction, 32) ? transaction : undefined;
  return { ...refusedBy(error), hash };
}

/** Outcome of a settlement that sent nothing. */
export async function stopped(
  why: Stop,
  vault: VaultHost,
  seen: Observation | undefined,
  simulation: Simulation | null,
): Promise<Ended> {
  const chainId = seen?.chainId ?? (await vault.chainId());
  const settlement = outcome(why, seen?.round, simulation);
  return {
    settlement,
    isFinal: true,
    chainId,
    block: seen?.block,
    refusal: why.error,
  };
}

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import type { VaultHost } from "../host.js";
import { readBalances } from "./balances.js";
import type { Balance, BalanceSubjects } from "./balances.js";
import { nodeFailureOf, takeReadings } from "./compare-readings.js";
import type { Readings } from "./compare-readings.js";

/** What is compared. */
export interface StateSubjects extends BalanceSubjects {
  readonly orderIDs: readonly bigint[];
}

/** All that is compared, at one block. */
export interface ChainState {
  readonly readings: Readings;
  readonly balances: readonly Balance[];
}

/**
 * Reads all that is compared, at one block.
 *
 * @throws VaultError where the node fails; a contract that does is a reading
 */
export async function readState(
  vault: VaultHost,
  blockNumber: number,
  subjects: StateSubjects,
): Promise<ChainState> {
  const { provider, networkName } = vault;
  const [readings, balances] = await Promise.all([
    takeReadings(vault, subjects.orderIDs, blockNumber),
    readBalances(
      { provider, networkName, blockTag: numberToHexString(blockNumber) },
      subjects,
    ),
  ]);
  const failure = nodeFailureOf(readings);
  if (failure !== undefined) {
    throw failure;
  }
  return { readings, balances };
}

import type { VaultErrorCode } from "../errors.js";
import type { BlockInfo } from "../rpc/rpc-client.js";

/**
 * The outcome of a simulated settlement:
 *
 * - `settled`: the contract settles the round; see it in `changes`.
 * - `not-settled`: the contract accepts the call and the round is not settled
 *   by it, or it could not be seen to its end; see `reason`.
 * - `reverted`: the contract refuses it; see `reason`.
 * - `nothing-to-do`: the round is settled already.
 */
export type SimulationStatus =
  "settled" | "not-settled" | "reverted" | "nothing-to-do";

/** The engine that executes the settlement; see `SimulateSettleAllOptions`. */
export type SimulationEngine = "simulateV1" | "call" | "fork" | "in-process";

/** A field of a reading that the settlement changes; values unscaled. */
export interface ReadingChange {
  /** As in `round`, `pools.public`, `fundingFeeRate.call` or `orders.7`. */
  readonly reading: string;
  /** Or `error` if the reading fails: then the values are error codes, or null. */
  readonly field: string;
  readonly before: ReadingValue;
  readonly after: ReadingValue;
}

export type ReadingValue = bigint | number | boolean | string | null;

/** A balance that the settlement changes. */
export interface BalanceChange {
  readonly account: string;
  /** Address of the token, or `native` for the chain's own currency. */
  readonly token: string;
  /** Unscaled: wei, or the token's smallest unit. */
  readonly before: bigint;
  /** Unscaled, too. */
  readonly after: bigint;
}

/** An amount that the settlement moves from one account to another. */
export interface Transfer {
  /** Address of the token, or `native` for the chain's own currency. */
  readonly token: string;
  readonly from: string;
  readonly to: string;
  /** Unscaled: wei, or the token's smallest unit. */
  readonly amount: bigint;
}

/** A token's own words, to be escaped. */
export interface TokenDescription {
  /** Null if the token has none. */
  readonly symbol: string | null;
  readonly decimals: number | null;
}

/** The effects of a settlement; a value that does not apply is null. */
export interface Simulation {
  readonly status: SimulationStatus;
  /** The error code behind `reverted` and `not-settled`. */
  readonly code: VaultErrorCode | null;
  /** Why it ends so. Can hold the contract's own words: escape it for a terminal. */
  readonly reason: string | null;
  readonly engine: SimulationEngine;
  /** As the transaction would use it. */
  readonly gasUsed: bigint | null;
  /** The block that the simulated transaction was mined in. */
  readonly block: BlockInfo | null;
  /** Changes of all readings, and of the orders that were named. */
  readonly changes: readonly ReadingChange[];
  /** Of the sender, less the gas at its current price, and of the contracts. */
  readonly balances: readonly BalanceChange[];
  /**
   * Transfers between any accounts, in their order: ERC-20 `Transfer` events and
   * native currency, without the fee. Null where the engine does not see it.
   */
  readonly transfers: readonly Transfer[] | null;
  /** Limits of the engine's knowledge, and other remarks. */
  readonly notes: readonly string[];
}

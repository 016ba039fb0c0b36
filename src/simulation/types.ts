import type { VaultErrorCode } from "../errors.js";
import type { Address } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/blocks.js";

/**
 * Outcome of a simulated settlement:
 *
 * - `settled`: the contract settles the round.
 * - `not-settled`: the contract accepts the call but does not settle the round, or the
 *   round cannot be read; see `reason`.
 * - `reverted`: the contract refuses the call; see `reason`. A guard does, too, if its
 *   call does not settle the round.
 * - `nothing-to-do`: the round is settled already.
 */
export type SimulationStatus =
  | "settled"
  | "not-settled"
  | "reverted"
  | "nothing-to-do";

/** Engine that executes the settlement; see `SimulateSettleAllOptions`. */
export type SimulationEngine = "simulateV1" | "fork" | "in-process";

/** Field of a reading that the settlement changes. Values are unscaled. */
export interface ReadingChange {
  /** Example: `round`, `pools.public`, `fundingFeeRate.call`, `orders.7`. */
  readonly reading: string;
  /** `error` if a reading fails: the values are then error codes, or null. */
  readonly field: string;
  readonly before: ReadingValue;
  readonly after: ReadingValue;
}

export type ReadingValue = bigint | number | boolean | string | null;

export interface BalanceChange {
  readonly account: Address;
  /** Address of the token, or `native` for the chain's own currency. */
  readonly token: Address | "native";
  /** Unscaled: wei, or the token's smallest unit. */
  readonly before: bigint;
  /** Unscaled, as `before`. */
  readonly after: bigint;
}

export interface Transfer {
  /** Address of the token, or `native` for the chain's own currency. */
  readonly token: Address | "native";
  readonly from: Address;
  readonly to: Address;
  /** Unscaled: wei, or the token's smallest unit. */
  readonly amount: bigint;
}

/** Values that a token's contract returns, null if it returns none: escape them. */
export interface TokenDescription {
  readonly symbol: string | null;
  readonly decimals: number | null;
}

/** Effects of a settlement. A value that does not apply is null. */
export interface Simulation {
  readonly status: SimulationStatus;
  /** Error code of `reverted` and `not-settled`. */
  readonly code: VaultErrorCode | null;
  /** Explains the status. Can contain the contract's text: escape it for a terminal. */
  readonly reason: string | null;
  readonly engine: SimulationEngine;
  /** Address of the guard that the settlement goes through. */
  readonly guard: Address | null;
  readonly gasUsed: bigint | null;
  /** Block of the simulated transaction. */
  readonly block: BlockInfo | null;
  /** Changed fields of all readings, and of the orders named in the options. */
  readonly changes: readonly ReadingChange[];
  /** Balances of the contracts, and of the sender after gas at the current price. */
  readonly balances: readonly BalanceChange[];
  /**
   * Transfers between any accounts: ERC-20 `Transfer` events and native currency,
   * without the fee, as the node lists them; see `notes`. Null if an engine cannot list them.
   */
  readonly transfers: readonly Transfer[] | null;
  /** Limits of the engine, and other remarks. */
  readonly notes: readonly string[];
}

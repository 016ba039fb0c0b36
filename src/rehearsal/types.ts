import type { BlockInfo } from "../rpc/node.js";

/**
 * How a simulated settlement ended:
 *
 * - `settled`: the contract accepted it; see the round in `changes`.
 * - `reverted`: the contract refuses it; see `reason`.
 * - `nothing-to-do`: the round is settled already; nothing was executed.
 */
export type SimulationStatus = "settled" | "reverted" | "nothing-to-do";

/** A field of a reading that the settlement changes; values unscaled. */
export interface ReadingChange {
  /** As in `round`, `pools.public`, `fundingFeeRate.call` or `orders.7`. */
  readonly reading: string;
  /**
   * Name of the field, or `error` where the reading fails before or after: then
   * the values are the error's code, or null where it does not fail.
   */
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
  readonly after: bigint;
}

/** What a settlement would do; what does not apply is null. */
export interface Simulation {
  readonly status: SimulationStatus;
  /**
   * Why it reverts, why there is nothing to do, or that the contract accepts
   * the call without settling the round. Can hold the contract's own words:
   * escape it before it goes to a terminal.
   */
  readonly reason: string | null;
  readonly gasUsed: bigint | null;
  /** The block that the simulated transaction was mined in. */
  readonly block: BlockInfo | null;
  /** What differs, in all readings and in the orders that were named. */
  readonly changes: readonly ReadingChange[];
  /**
   * What differs, of the sender and the protocol's contracts. The sender's own
   * pays for the gas at the price of the simulated block.
   */
  readonly balances: readonly BalanceChange[];
}

import type { LensFacts, ReadCall } from "../client/lens/lens.js";
import type { VaultErrorCode } from "../errors.js";
import type { SettlementRoute } from "../guard/call.js";
import type { FailedCall } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import type { BlockInfo, NextBlock } from "../rpc/blocks.js";
import type { CallResult } from "../rpc/revert-reason.js";

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

/** Value that differs from the preview. */
export interface PreviewDifference {
  /** Example: `round`, `pools.public`; `transfers` for token transfers. */
  readonly reading: string;
  /** Name of the field; for a transfer, its token and the two accounts. */
  readonly field: string;
  readonly previewed: ReadingValue;
  readonly happened: ReadingValue;
}

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
  /**
   * Error code of `reverted` and `not-settled`; VAULT_GUARD_KEEPS_TOKENS of `settled` if the
   * contracts would settle, but `settleAll` refuses.
   */
  readonly code: VaultErrorCode | null;
  /** Explains status and code. Can contain the contract's text: escape it for a terminal. */
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

/** The block to simulate in. */
export interface ChosenBlock extends NextBlock {
  /**
   * True if the caller named a time, also an `end` that has passed. Else a network in process
   * has its own clock, which goes on.
   */
  readonly isTimed?: boolean;
}

/** The transaction of a settlement as it would be sent. */
export interface Attempt {
  readonly route: SettlementRoute & { readonly from: Address };
  /** Gas limit; the block's unless one was given or configured. */
  readonly gas: bigint;
  readonly isGasGiven: boolean;
  /** Wei for a unit of gas. */
  readonly gasPrice: bigint;
  /** The block that it would be in. */
  readonly next: ChosenBlock;
  /** Of a fork. */
  readonly hardfork: string | undefined;
}

/** What an engine reads before the settlement and after it. */
export interface WatchList {
  /** The sender comes first. */
  readonly accounts: readonly Address[];
  /** The first is of the accounts, by the lens at an unused address. */
  readonly reads: readonly ReadCall[];
  /**
   * Decodes the answers to the reads. A reading that fails is an error in its place.
   *
   * @returns Undefined if the first is not answered by the lens.
   */
  readonly decode: (answers: readonly CallResult[]) => ChainState | undefined;
}

/** Values or failed readings by name. Example: `pools.public`, `orders.7`. */
export type Readings = ReadonlyMap<string, unknown>;

/** What an engine has read, decoded. */
export interface ChainState extends LensFacts {
  readonly readings: Readings;
  /** Of each account that of native currency, then those of tokens. */
  readonly balances: ReadonlyArray<{
    readonly account: Address;
    readonly token: Address | "native";
    /** Undefined if the contract returns no balance. */
    readonly amount: bigint | undefined;
  }>;
}

/** A settlement executed by an engine. */
export interface Execution {
  readonly engine: SimulationEngine;
  readonly before: ChainState;
  readonly after: ChainState;
  /** Wei that the sender has after it, as if nothing were lent and gas were free. */
  readonly balanceWithoutFee: bigint;
  /** Wei for a unit of gas, as contracts saw it: the attempt's, or the least of the engine. */
  readonly gasPrice: bigint;
  readonly block: BlockInfo;
  /** Undefined if the transaction succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly gasNeeded: bigint;
  readonly transfers: readonly Transfer[];
  /** Of the settlement, as the node has them. */
  readonly logs: unknown;
}

/**
 * Executes the settlement, and charges the sender for the gas.
 *
 * @returns Or why it cannot simulate here; another one may.
 */
export type Execute = (
  vault: VaultHost,
  attempt: Attempt,
  watched: WatchList,
) => Promise<Execution | { readonly unavailable: string }>;

import type { VaultError, VaultErrorCode } from "../errors.js";
import type { LocatedAddress } from "../client/addresses.js";
import type { VaultRound } from "../protocol/index.js";
import type {
  ReadingValue,
  Simulation,
  TokenDescription,
} from "../simulation/types.js";

/**
 * The outcome of a settlement:
 *
 * - `settled`: mined, and the round that was meant is settled.
 * - `not-settled`: mined without a revert, and the round that was meant is not
 *   settled by it. This is final: the next settlement may begin.
 * - `nothing-to-do`: nothing was sent now: the round is settled already, or has
 *   not ended, or the settlement to resume is finished.
 * - `refused`: nothing was sent, or the node did not take it.
 * - `reverted`: the contract refuses it, in the preflight (`hash` is null) or
 *   when it was mined.
 * - `unconfirmed`: it was sent, and was not seen mined in time, or its effect
 *   could not be read.
 */
export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number];

export const SETTLEMENT_STATUSES = [
  "settled",
  "not-settled",
  "nothing-to-do",
  "refused",
  "reverted",
  "unconfirmed",
] as const;

/** Why a settlement ends without its effect. */
export interface Stop {
  readonly status: Exclude<SettlementStatus, "settled">;
  readonly code?: VaultErrorCode | undefined;
  readonly reason: string;
  /** A transaction that was sent before. */
  readonly hash?: string | undefined;
  /** The error that `reason` is the message of. */
  readonly error?: VaultError;
}

/** The result of a settlement; null if a value does not apply. Amounts are unscaled. */
export interface Settlement {
  readonly status: SettlementStatus;
  /** The error code behind `refused` and `reverted`. */
  readonly code: VaultErrorCode | null;
  /** Why, if there is more to say. Can hold the contract's words: escape it. */
  readonly reason: string | null;
  /** Set as soon as a transaction may be on its way. */
  readonly hash: string | null;
  readonly blockNumber: number | null;
  readonly gasUsed: bigint | null;
  /** The round before anything was sent. */
  readonly before: VaultRound | null;
  /**
   * The round in the block of the transaction: the next one if the settlement
   * opened it. If the node has no state of that block, the newest block's, if it
   * is the same round.
   */
  readonly after: VaultRound | null;
  /** Null with `resume`, and if the node can simulate nothing in one request. */
  readonly preview: SettlementPreview | null;
}

/** A settlement as it was simulated before it was sent. */
export interface SettlementPreview extends Simulation {
  /**
   * Differences in readings and transfers of tokens, not of native currency, of
   * which a receipt has no trace; null if nothing was mined or it is not known.
   */
  readonly differences: readonly PreviewDifference[] | null;
}

/** A value that is not as previewed. */
export interface PreviewDifference {
  /** As in `round` or `pools.public`, or `transfers`. */
  readonly reading: string;
  /** Name of the field; of a transfer, its token and the two accounts. */
  readonly field: string;
  readonly previewed: ReadingValue;
  readonly happened: ReadingValue;
}

/** The settlement to confirm. Amounts are unscaled, prices are in wei. */
export interface SettlementPreflight {
  readonly chainId: number;
  /** Timestamp of the block that `round` was read at, Unix seconds. */
  readonly chainTime: number;
  readonly round: VaultRound;
  /** The vault contract. */
  readonly contract: LocatedAddress;
  /** The account that settles, with its checksum. */
  readonly from: string;
  readonly signing: SigningKind;
  readonly balance: bigint;
  /** Gas limit of the transaction; null if it reverts, as the costs are. */
  readonly gas: bigint | null;
  /** Cost of that gas at the current price. */
  readonly cost: bigint | null;
  /** Cost of that gas at most. */
  readonly maxCost: bigint | null;
  readonly outcome: "succeeds" | "reverts";
  /** Why it reverts, in the contract's own words, not escaped. */
  readonly reason: string | null;
  /** All that it would change; null if the node can simulate nothing in one request. */
  readonly preview: Simulation | null;
  /** By address, as the tokens state it: escape it, and do not rely on it. */
  readonly tokens: ReadonlyMap<string, TokenDescription>;
}

/** `local`: configured key; `remote`: node or plugin; `in-process`: Hardhat. */
export type SigningKind = "local" | "remote" | "in-process";

/** Progress of a settlement. */
export type SettlementEvent =
  | { readonly type: "preflight"; readonly preflight: SettlementPreflight }
  /** It leaves now, or one that was interrupted is followed; null: not known yet. */
  | {
      readonly type: "sending" | "resuming";
      readonly hash: string | null;
      readonly nonce: number;
    }
  /** The outcome of one that was interrupted; the next one begins. */
  | { readonly type: "resumed"; readonly settlement: Settlement }
  | { readonly type: "hash"; readonly hash: string }
  | {
      readonly type: "mined";
      readonly hash: string;
      readonly blockNumber: number;
    }
  /** Another block holds it, where more than one is waited for. */
  | {
      readonly type: "confirmed";
      readonly hash: string;
      readonly confirmations: number;
      readonly wanted: number;
    }
  /** Something went wrong that is being dealt with. */
  | { readonly type: "trouble"; readonly message: string };

export interface SettleAllOptions {
  /**
   * Account that settles: an address or a signer. Default: the network's `from`,
   * else its first account.
   */
  readonly from?: string | { readonly address: string } | undefined;
  /**
   * Blocks that must hold the transaction, its own included. Default: 1. On a
   * live chain take as many as its re-orgs are deep.
   */
  readonly confirmations?: number | undefined;
  /**
   * Milliseconds to wait, counted from sending, until it is `unconfirmed`.
   * Default: 300,000, in process 10,000.
   */
  readonly timeout?: number | undefined;
  /** Milliseconds between two looks at the chain. Default: 1,000, in process 50. */
  readonly pollingInterval?: number | undefined;
  /**
   * Settles only a round that has ended by the chain's clock; before that there is
   * `nothing-to-do`. Default: false.
   */
  readonly ifExpired?: boolean | undefined;
  /** Sends nothing: `refused` if there is a round to settle. */
  readonly assertOnly?: boolean | undefined;
  /**
   * `true` finishes the settlement that the journal has, and makes no other; it
   * excludes `from`, `confirm` and `assertOnly`. "if-interrupted" finishes an
   * interrupted one, if there is any, before it makes another, as a keeper does.
   */
  readonly resume?: boolean | "if-interrupted" | undefined;
  /**
   * Asked once, after the preflight. Only true goes on; a text or one of the
   * package's errors becomes the settlement's `reason`. Default: nobody is asked.
   */
  readonly confirm?:
    | ((preflight: SettlementPreflight) => Promise<true | string | VaultError>)
    | undefined;
  readonly onEvent?: ((event: SettlementEvent) => void) | undefined;
}

import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall } from "../client/codec.js";
import type { VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo, CallRequest, Header } from "../rpc/node.js";
import type { ChainState } from "./compare-readings.js";
import type { ResolvedAddresses } from "./resolved-addresses.js";
import type { WatchList } from "./watch-list.js";
import type { Transfer } from "./types.js";

/** The block that the settlement is rehearsed in. */
export interface NextBlock extends Omit<Header, "hash"> {
  /** Of the block before it, whose state it starts from. */
  readonly gasLimit: bigint;
}

/** The block after this one, where nothing else is known of it. */
export function nextBlockAfter(header: Header): NextBlock {
  return {
    ...header,
    number: header.number + 1,
    timestamp: header.timestamp + 1,
  };
}

/** What is rehearsed. */
export interface Subject {
  readonly vault: VaultHost;
  /** Who settles. */
  readonly sender: string;
  /** The contract that is to settle. */
  readonly target: LocatedAddress;
  /** What is read before and after. */
  readonly watched: WatchList;
  /** Gas limit of the transaction, where somebody chose one. */
  readonly gas: bigint | undefined;
  /** Of the protocol's contracts. */
  readonly addresses: ResolvedAddresses;
}

/** What the engines of an HTTP network are asked. */
export interface Question extends Subject {
  readonly next: NextBlock;
  /** For the fork. */
  readonly hardfork: string | undefined;
  /** Whether the newest block was not the one that was asked for. */
  readonly isPast: boolean;
}

/** Of a transaction that calls `settleAll`, before any code runs. */
export const INTRINSIC_GAS = 21_064n;

/** The call that settles. */
export function settlementCall(from: string, to: string): CallRequest {
  return { from, to, data: encodeCall("settleAll", []).data };
}

/** Why the contract does not do it. */
export interface Refusal {
  readonly code: VaultErrorCode;
  readonly reason: string;
}

/** What an engine found out. */
export interface Answer {
  /** Where it was executed; null if it was not. */
  readonly block: BlockInfo | null;
  readonly before: ChainState;
  readonly after: ChainState;
  /** Null if the call succeeds. */
  readonly refusal: Refusal | null;
  readonly gasUsed: bigint | null;
  /**
   * The least gas limit that the transaction may have, as far as it is known:
   * what it used before refunds.
   */
  readonly gasNeeded: bigint | null;
  readonly transfers: readonly Transfer[] | null;
  readonly notes: readonly string[];
}

/** The answer where nothing is executed. */
export function notExecuted(
  state: ChainState,
  refusal: Refusal | null,
): Answer {
  return {
    block: null,
    before: state,
    after: state,
    refusal,
    gasUsed: null,
    gasNeeded: null,
    transfers: [],
    notes: [],
  };
}

/** What no rehearsal knows; a note of every answer. */
export const UNKNOWABLE =
  "Not known beforehand: the block's randomness and who makes it, what a contract does by the gas that is left (gasleft()), and transactions of others that are mined first.";

/** An engine cannot answer this question here; another one may. */
export class EngineUnable extends Error {
  public override readonly name = "EngineUnable";

  constructor(problem: string, cause?: unknown) {
    super(problem, { cause });
  }
}

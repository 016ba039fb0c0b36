import type { LocatedAddress } from "../client/addresses.js";
import { encodeCall } from "../client/codec.js";
import type { VaultHost } from "../host.js";
import type { BlockInfo, CallRequest, CallResult } from "../rpc/rpc-client.js";
import type { TargetBlock } from "./next-block.js";
import type { Transfer } from "./types.js";
import type { WatchList } from "./watch-list.js";

/** A settlement, and where to simulate it. */
export interface SimulationParameters {
  readonly vault: VaultHost;
  readonly sender: string;
  readonly target: LocatedAddress;
  readonly watched: WatchList;
  /** Gas limit of the transaction, if somebody chose one. */
  readonly gas: bigint | undefined;
  readonly next: TargetBlock;
  readonly hardfork: string | undefined;
}

/** A settlement as an engine executed it; the results of the reads around it. */
export interface EngineResult<Results = readonly CallResult[]> {
  readonly before: Results;
  readonly after: Results;
  readonly block: BlockInfo;
  /** Undefined if the transaction succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  /** The least gas limit that may do: what was used before refunds. */
  readonly gasNeeded: bigint;
  /** The part of the fee that the sender's balance afterwards has paid, in wei. */
  readonly feePaid: bigint;
  /** Null if the engine does not see them. */
  readonly transfers: readonly Transfer[] | null;
  /** Limits of this engine's knowledge. */
  readonly notes: readonly string[];
}

/** The failure of a call, as far as a node tells. */
export interface FailedCall {
  /** The data of the revert, 0x hex. */
  readonly data: string;
  /** The node's words, if they say more than that it failed. */
  readonly message: string | undefined;
  readonly gasUsed: bigint;
  /** The gas that it was given at least. */
  readonly gasGiven: bigint;
}

/** Of a transaction that calls `settleAll`, before any code runs. */
export const INTRINSIC_GAS = 21_064n;

export function settlementCall(from: string, to: string): CallRequest {
  return { from, to, data: encodeCall("settleAll", []).data };
}

/** A refund gives back a fifth at most (EIP-3529). */
export function beforeRefunds(gasUsed: bigint): bigint {
  return (gasUsed * 5n + 3n) / 4n;
}

/** The limits of every simulation, as a note. */
export const UNKNOWABLE =
  "Not known beforehand: the block's randomness and who makes it, what a contract does by the gas that is left (gasleft()), and transactions of others that are mined first.";

/** An engine cannot simulate this here; another one may. */
export class EngineUnsupportedError extends Error {
  public override readonly name = "EngineUnsupportedError";

  constructor(problem: string, cause?: unknown) {
    super(problem, { cause });
  }
}

import type { VaultHost } from "../../host.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/calls.js";
import type { ChosenNextBlock } from "../../settlement-call/next-block.js";
import { usesAllGas } from "../../settlement-call/outcome.js";
import type { SettlementRoute } from "../../settlement-call/route.js";
import type { Transfer } from "../types.js";
import type { WatchList } from "../watch-list.js";

export interface SimulationParameters {
  readonly vault: VaultHost;
  /** Its `from` is the sender. */
  readonly route: SettlementRoute;
  readonly watched: WatchList;
  /** Gas limit, if one was given or configured. */
  readonly gas: bigint | undefined;
  /** Number of the block that the simulation starts from: `next.number - 1`. */
  readonly base: number;
  /** The block that the settlement would be in. */
  readonly next: ChosenNextBlock;
  readonly hardfork: string | undefined;
}

/**
 * Settlement executed by an engine, and the answers to `readsOf` before and after it: the
 * facts of the lens first, then the readings.
 */
export interface EngineResult {
  readonly answersBefore: readonly CallResult[];
  /** The sender has not paid for gas. */
  readonly answersAfter: readonly CallResult[];
  readonly block: BlockInfo;
  /** Undefined if the transaction succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly gasNeeded: bigint;
  readonly transfers: readonly Transfer[];
  /** Limits of this engine. */
  readonly notes: readonly string[];
}

export interface FailedCall {
  /** Revert data, 0x hex. */
  readonly data: string;
  /** Error text of the node, if it states more than a failure. */
  readonly message: string | undefined;
  readonly gasUsed: bigint;
  readonly gasGiven: bigint;
}

/** An upper bound: refunds are at most a fifth of it (EIP-3529). */
export function beforeRefunds(gasUsed: bigint): bigint {
  return (gasUsed * 5n + 3n) / 4n;
}

export const UNKNOWABLE =
  "Not known beforehand: the block's randomness and who makes it, behaviour that depends on remaining gas (gasleft()), and transactions of others that are mined first.";

/** The readings before and after need gas of the block, too. */
export const RAISED_GAS_LIMIT =
  "The node simulates with a higher block gas limit than its blocks have: a contract that reads block.gaslimit can do something else when it is mined.";

/** This engine cannot simulate the settlement here; another one may. */
export class EngineUnsupportedError extends Error {
  public override readonly name = "EngineUnsupportedError";
}

/**
 * True if the call ran out of gas, by the words of the node. If it has none, the call may
 * also have hit an invalid instruction, which uses up all gas, too.
 */
export function isOutOfGas(failed: FailedCall): boolean {
  const { data, message } = failed;
  return (
    data === "0x" &&
    (message === undefined
      ? usesAllGas(failed)
      : /out ?of ?gas/iu.test(message))
  );
}

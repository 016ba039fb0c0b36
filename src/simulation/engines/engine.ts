import type { VaultHost } from "../../host.js";
import type { ReadCall } from "../../client/lens/lens.js";
import type { Address } from "../../protocol/index.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/calls.js";
import type { ChosenNextBlock } from "../next-block.js";
import { usesAllGas } from "../../guard/outcome.js";
import type { SettlementRoute } from "../../guard/call.js";
import type { SimulationEngine, Transfer } from "../types.js";

/** The transaction of a settlement as it would be sent. */
export interface Attempt {
  /** Its `from` is the sender. */
  readonly route: SettlementRoute;
  /** Gas limit; the block's unless one was given or configured. */
  readonly gas: bigint;
  readonly isGasGiven: boolean;
  /** Wei for a unit of gas; undefined if the price is not known. */
  readonly gasPrice: bigint | undefined;
  /** The block that it would be in. */
  readonly next: ChosenNextBlock;
  /** Of a fork. */
  readonly hardfork?: string | undefined;
}

/** What an engine reads before the settlement and after it. */
export interface Watched {
  /** The sender comes first. */
  readonly accounts: readonly Address[];
  readonly reads: readonly ReadCall[];
}

/** A settlement executed by an engine. */
export interface Run {
  readonly engine: SimulationEngine;
  /** The answers to `readsOf`, in its order. */
  readonly before: readonly CallResult[];
  readonly after: readonly CallResult[];
  /** Wei that the sender has in both answers, lent to pay for gas. */
  readonly lent: bigint;
  /** Wei that the sender has paid for gas in the answers after the settlement. */
  readonly feePaid: bigint;
  /** True if the sender is a contract, so that another account sends the transaction. */
  readonly isContract: boolean;
  readonly block: BlockInfo;
  /** Undefined if the transaction succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly gasNeeded: bigint;
  readonly transfers: readonly Transfer[];
  /** Of the settlement, as the node has them. */
  readonly logs: unknown;
  /** Differences from the chain, beyond those of every simulation by this engine. */
  readonly notes: readonly string[];
}

/** Says why an engine cannot simulate here; another one may. */
export interface Unavailable {
  readonly unavailable: string;
  /** True if it will be so the next time. */
  readonly isForGood?: boolean;
}

/**
 * Executes the settlement, and charges the sender for the gas. A sender who could not pay
 * the price for all of the gas, or is a contract, is lent as much as that.
 */
export type Engine = (
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
) => Promise<Run | Unavailable>;

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

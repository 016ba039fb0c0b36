import { min } from "@nomicfoundation/hardhat-utils/bigint";

import type { VaultHost } from "../../host.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/calls.js";
import { TRANSACTION_GAS_CAP } from "../../rpc/chain.js";
import { withMargin } from "../../settlement-call/fees.js";
import type { GasPrice } from "../../settlement-call/fees.js";
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
  /** Price of gas; undefined if it is not known. */
  readonly price: Promise<GasPrice | undefined>;
  /** Gas and price to execute with. Default: nobody pays, and a block's gas. */
  readonly offer?: Offer | undefined;
}

/** Gas limit of the transaction, and what it pays for each unit, in wei. */
export interface Offer {
  readonly gas: bigint;
  readonly gasPrice: bigint;
}

/**
 * Settlement executed by an engine, and the answers to `readsOf` before and after it: the
 * facts of the lens first, then the readings.
 */
export interface EngineResult {
  readonly answersBefore: readonly CallResult[];
  readonly answersAfter: readonly CallResult[];
  /** What the sender has paid for gas by the answers after the settlement, in wei. */
  readonly feePaid: bigint;
  readonly block: BlockInfo;
  /** Undefined if the transaction succeeded. */
  readonly failed: FailedCall | undefined;
  readonly gasUsed: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly gasNeeded: bigint;
  readonly transfers: readonly Transfer[];
  /** Of the settlement, as the node has them. */
  readonly logs: unknown;
  /** False if transfers of native currency may be missing. */
  readonly hasAllTransfers: boolean;
  /** Differences from the chain, beyond those of every simulation by this engine. */
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

/**
 * The offer of a settlement that was simulated: all that the sender can pay for if it
 * failed.
 *
 * @param balance Sender's balance before, in wei.
 * @returns Undefined if the price is not known, the sender cannot pay it, or the settlement
 * runs out of gas.
 */
export function offerFor(
  { gas: given, next: { gasLimit } }: SimulationParameters,
  {
    failed,
    gasUsed,
    gasNeeded,
  }: Pick<EngineResult, "failed" | "gasUsed" | "gasNeeded">,
  price: GasPrice | undefined,
  balance: bigint,
): Offer | undefined {
  if (price === undefined || (failed !== undefined && isOutOfGas(failed))) {
    return undefined;
  }
  const { current, highest } = price;
  const affordable = highest === 0n ? gasLimit : balance / highest;
  const gas =
    given ??
    (failed === undefined
      ? withMargin({ used: gasUsed, needed: gasNeeded }, gasLimit)
      : min(affordable, min(gasLimit, TRANSACTION_GAS_CAP)));
  const isEnough = gas >= gasUsed && gas <= affordable;
  return isEnough ? { gas, gasPrice: current } : undefined;
}

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

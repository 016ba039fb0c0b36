import type { LensFacts, ReadCall } from "../../client/lens/lens.js";
import type { SettlementRoute } from "../../guard/call.js";
import { usesAllGas } from "../../guard/refusal.js";
import type { VaultHost } from "../../host.js";
import type { Address } from "../../protocol/index.js";
import type { BlockInfo } from "../../rpc/blocks.js";
import type { CallResult } from "../../rpc/chain.js";
import type { ChosenNextBlock } from "../next-block.js";
import type { SimulationEngine, Transfer } from "../types.js";

/** The transaction of a settlement as it would be sent. */
export interface Attempt {
  readonly route: SettlementRoute & { readonly from: Address };
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

/** What an engine has read. */
export interface State {
  readonly facts: LensFacts;
  /** The answers to the reads, in their order. */
  readonly answers: readonly CallResult[];
}

/** A settlement executed by an engine. */
export interface Run {
  readonly engine: SimulationEngine;
  readonly before: State;
  readonly after: State;
  /** Wei that the sender was given between them. */
  readonly lent: bigint;
  /** Wei that the sender has paid for gas between them. */
  readonly feePaid: bigint;
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
  /** Differences from the chain, beyond those of every simulation by this engine. */
  readonly notes: readonly string[];
}

/** Says why an engine cannot simulate here; another one may. */
export interface Unavailable {
  readonly unavailable: string;
}

/** Executes the settlement, and charges the sender for the gas. */
export type Engine = (
  vault: VaultHost,
  attempt: Attempt,
  watched: Watched,
) => Promise<Run | Unavailable>;

/** An account as contracts see it. */
interface Account {
  readonly balance: bigint;
  /** Bytes. */
  readonly codeSize: bigint;
}

/** The code that an EIP-7702 authorization gives to an account with a key. */
const DELEGATION_SIZE = 23n;

/** True if another account sends the transaction, and pays for the gas. */
export function isContract({ codeSize }: Account): boolean {
  return codeSize > 0n && codeSize !== DELEGATION_SIZE;
}

/**
 * Wei to lend for gas: the price of all of it to a sender who cannot pay, or has code.
 * `lend` in contracts/lens/VaultLens.sol has the same rule.
 */
export function loanFor({ balance, codeSize }: Account, fee: bigint): bigint {
  return balance < fee || codeSize > 0n ? fee : 0n;
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

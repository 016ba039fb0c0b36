import type { LocatedAddress } from "../client/addresses.js";
import type { VaultErrorCode } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/node.js";
import type { Balance } from "./balances.js";
import type { WatchList } from "./watch-list.js";
import type { ReadingChange, Transfer } from "./types.js";

/** The block that the settlement is rehearsed in. */
export interface NextBlock extends BlockInfo {
  /** Of the block before it, whose state it starts from. */
  readonly gasLimit: bigint;
  /** Undefined on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
  /**
   * Whether it is the node's own pending block, and nothing else waits for it.
   */
  readonly isPending: boolean;
}

/** What every engine is asked: before, the settlement, after. */
export interface Question {
  readonly vault: VaultHost;
  readonly sender: string;
  readonly target: LocatedAddress;
  readonly watched: WatchList;
  readonly next: NextBlock;
  /** Gas limit of the transaction, where somebody chose one. */
  readonly gas: bigint | undefined;
}

/** Why the contract does not do it. */
export interface Refusal {
  readonly code: VaultErrorCode;
  readonly reason: string;
  /** Not the contract's or the chain's doing, but the rehearsal's own limit. */
  readonly isOurs?: boolean;
}

/** What an engine found out. */
export interface Answer {
  readonly chainId: number;
  /** Where it was executed; null if it was not. */
  readonly block: BlockInfo | null;
  /** The rounds before and after; undefined where they cannot be read. */
  readonly roundBefore: VaultRound | undefined;
  readonly roundAfter: VaultRound | undefined;
  readonly changes: readonly ReadingChange[];
  readonly before: readonly Balance[];
  readonly after: readonly Balance[];
  /** Null if the call succeeds. */
  readonly refusal: Refusal | null;
  readonly gasUsed: bigint | null;
  /**
   * The least gas limit that the transaction may have, as far as it is known:
   * what it used before refunds.
   */
  readonly gasNeeded: bigint | null;
  readonly transfers: readonly Transfer[] | null;
  /** Those contracts that are none, where the engine has found out. */
  readonly withoutCode?: readonly string[];
  readonly notes: readonly string[];
}

/** What no rehearsal knows; a note of every answer. */
export const UNKNOWABLE =
  "Not known beforehand: the block's randomness and who makes it, and transactions of others that are mined first.";

/** An engine cannot answer this question here; another one may. */
export class EngineUnable extends Error {
  public override readonly name = "EngineUnable";
  /** Whether a limit on gas that is not the contract's or the chain's ended it. */
  public readonly isCapped: boolean;

  constructor(
    public readonly problem: string,
    { isCapped = false, cause }: { isCapped?: boolean; cause?: unknown } = {},
  ) {
    super(problem, { cause });
    this.isCapped = isCapped;
  }
}

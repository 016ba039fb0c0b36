import { VaultError } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import type { Chain, Header, Receipt, SettlementCall } from "../rpc/node.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { Settlement } from "./types.js";

/** How often the round is asked for when it cannot be read after mining. */
const ATTEMPTS = 5;

/** What a mined settlement is compared with. */
export interface Expectation {
  readonly chain: Chain;
  readonly call: SettlementCall;
  /** The round that was meant. */
  readonly before: VaultRound;
  readonly readRound: (block: number) => Promise<VaultRound>;
  /** The round at the newest block, and that block. */
  readonly readRoundNow: () => Promise<{
    readonly header: Header;
    readonly round: VaultRound;
  }>;
  readonly pause: () => Promise<void>;
}

/**
 * Finds out what a mined transaction did. Never throws.
 *
 * @returns The outcome, and whether asking this node again can tell no more.
 */
export async function conclude(
  expectation: Expectation,
  receipt: Receipt,
): Promise<{ readonly settlement: Settlement; readonly isFinal: boolean }> {
  const seen = await readAfter(expectation, receipt.blockNumber);
  return {
    settlement: await describe(expectation, receipt, seen),
    isFinal: seen !== "unreadable",
  };
}

async function describe(
  expectation: Expectation,
  { hash, blockNumber, gasUsed, succeeded }: Receipt,
  seen: RoundAfter,
): Promise<Settlement> {
  const { before } = expectation;
  const after = typeof seen === "string" ? null : seen;
  const mined = { hash, blockNumber, gasUsed, before, after };
  if (!succeeded) {
    return {
      status: "reverted",
      reason: await findReason(expectation, blockNumber),
      ...mined,
    };
  }
  if (after === null) {
    return {
      status: "unconfirmed",
      reason:
        seen === "moved on"
          ? `It was mined in block ${blockNumber} without a revert, but the node has no state of that block any more, and the vault is in another round by now: which one was settled, an archive node can tell.`
          : `It was mined in block ${blockNumber}, but the round could not be read afterwards, so what it settled is not known.`,
      ...mined,
    };
  }
  if (!isSameRound(after, before)) {
    return {
      status: "unconfirmed",
      reason: `MISMATCH: it was meant for ${describeRound(before)}, but in block ${blockNumber} the vault is in another one, ${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
      ...mined,
    };
  }
  return after.settled
    ? { status: "settled", reason: null, ...mined }
    : {
        status: "unconfirmed",
        reason: `MISMATCH: it was mined in block ${blockNumber} without a revert, but ${describeRound(after)} is not settled in that block.`,
        ...mined,
      };
}

/**
 * The round in the transaction's block. `moved on`: only a later one could be
 * read, which says nothing about it.
 */
type RoundAfter = VaultRound | "moved on" | "unreadable";

/**
 * Reads the round in the transaction's own block, so that a round that opens
 * later is not taken for it; at the newest block where the node keeps no old
 * state, as long as that has the same round.
 */
async function readAfter(
  { readRound, readRoundNow, before, pause }: Expectation,
  blockNumber: number,
): Promise<RoundAfter> {
  try {
    for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
      try {
        return await readRound(blockNumber);
      } catch (error) {
        if (!VaultError.isVaultError(error)) {
          throw error;
        }
        await pause();
      }
    }
    const { header, round } = await readRoundNow();
    if (header.number < blockNumber) {
      return "unreadable";
    }
    return isSameRound(round, before) ? round : "moved on";
  } catch {
    return "unreadable";
  }
}

/** A receipt has no reason, so the call is made again where it failed. */
async function findReason(
  { chain, call }: Expectation,
  blockNumber: number,
): Promise<string> {
  for (const block of [blockNumber, blockNumber - 1]) {
    try {
      const reverted = await chain.simulate(call, block);
      if (reverted !== undefined) {
        return reverted.reason.text;
      }
    } catch {
      // No old state, or no node: the outcome stands without its reason.
    }
  }
  return "the reason could not be found out";
}

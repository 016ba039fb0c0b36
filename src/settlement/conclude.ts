import { VaultError } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";
import type { Chain, Receipt, SettlementCall } from "./chain.js";
import { describeRound, isSameRound } from "./round-identity.js";
import type { Settlement } from "./types.js";

/** How often the round is asked for when it cannot be read after mining. */
const ATTEMPTS = 5;

/** What a mined settlement is compared with. */
export interface Expectation {
  readonly chain: Chain;
  readonly call: SettlementCall;
  /** The round that was meant. */
  readonly before: VaultRound;
  readonly readRound: (block: number | "latest") => Promise<VaultRound>;
  readonly pause: () => Promise<void>;
}

/** Finds out what a mined transaction did. Never throws. */
export async function conclude(
  expectation: Expectation,
  { hash, blockNumber, gasUsed, succeeded }: Receipt,
): Promise<Settlement> {
  const { before } = expectation;
  const after = await readAfter(expectation, blockNumber);
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
      reason: `It was mined in block ${blockNumber}, but the round could not be read afterwards, so what it settled is not known.`,
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
 * Reads the round in the transaction's own block, so that a round that opens
 * later is not taken for it; the latest one where the node keeps no old state.
 */
async function readAfter(
  { readRound, pause }: Expectation,
  blockNumber: number,
): Promise<VaultRound | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const isLast = attempt === ATTEMPTS - 1;
    try {
      return await readRound(isLast ? "latest" : blockNumber);
    } catch (error) {
      if (!VaultError.isVaultError(error) || isLast) {
        return null;
      }
      await pause();
    }
  }
  return null;
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

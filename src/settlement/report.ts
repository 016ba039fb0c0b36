import { isFailedReading } from "../client/failed-reading.js";
import type { VaultReader } from "../client/reader.js";
import type { SnapshotWithBalances } from "../client/snapshot.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import { isUsedUp } from "../rpc/gas.js";
import type { BlockInfo, Receipt } from "../rpc/node.js";
import { noteBlock } from "../rpc/patient.js";
import { explainRefusal, outOfGas } from "../rehearsal/refusal.js";
import type { FollowOutcome } from "./follow-transaction.js";
import type { JournalEntry } from "./journal.js";
import { observe } from "./observe.js";
import { replaySettlement } from "./replay.js";
import type { Settlement } from "./types.js";

/** For whoever reads of a transaction that is still on its way. */
export const TAKE_UP = "The option `resume` of settleAll() takes it up again.";

/** All that a preview is compared with, at one block. */
export type SeeBlock = (
  vault: VaultReader,
  blockNumber: number,
) => Promise<SnapshotWithBalances>;

/** What became of a settlement that may have left. */
export interface Report {
  readonly settlement: Settlement;
  /** Of the transaction, where its time came along. */
  readonly minedBlock?: BlockInfo | undefined;
  /** Undefined if it is not mined, as far as is known. */
  readonly receipt?: Receipt | undefined;
  /** All that there is to see of its block, where that was asked for. */
  readonly seen?: SnapshotWithBalances | undefined;
  /** False where asking again can tell more. */
  readonly isFinal: boolean;
}

/**
 * Says what a transaction that was followed did. Never throws.
 *
 * @param vault Whose patience is for all that is read here together.
 * @param see How all of a block is seen, if it is to be, in one request.
 */
export async function report(
  vault: VaultHost,
  entry: JournalEntry,
  end: FollowOutcome,
  see: SeeBlock | undefined,
): Promise<Report> {
  if (end.kind === "mined") {
    return await reportMined(vault, entry, end.receipt, see);
  }
  const { kind, reason } = end;
  const isFinal = kind === "dropped";
  // In process nothing is left to take up.
  const canResume = !isFinal && vault.connection.networkConfig.type === "http";
  return {
    settlement: outcome(
      {
        ...end.receipt,
        ...end,
        reason: canResume ? `${reason} ${TAKE_UP}` : reason,
      },
      entry.round,
    ),
    isFinal,
  };
}

type Known = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
};

/** A settlement of which nothing else is known. */
export function outcome(
  known: Known,
  before: VaultRound | undefined,
): Settlement {
  return {
    status: known.status,
    code: known.code ?? null,
    reason: known.reason ?? null,
    hash: known.hash ?? null,
    blockNumber: known.blockNumber ?? null,
    gasUsed: known.gasUsed ?? null,
    before: before ?? null,
    after: known.after ?? null,
    preview: known.preview ?? null,
  };
}

async function reportMined(
  vault: VaultHost,
  entry: JournalEntry,
  receipt: Receipt,
  see: SeeBlock | undefined,
): Promise<Report> {
  const { blockNumber } = receipt;
  // Who gave the receipt has it; another node may be behind.
  noteBlock(vault.provider, blockNumber);
  const seen = await readAfter(vault, entry, blockNumber, see);
  const { round: after, timestamp, all } = seen;
  const effect: Known = !receipt.succeeded
    ? { status: "reverted", ...(await findReason(vault, entry, receipt)) }
    : after !== undefined &&
        !isSameRound(entry.round, after) &&
        (await isProven(vault, entry, receipt))
      ? { status: "settled" }
      : describeEffect(entry.round, blockNumber, seen);
  return {
    settlement: outcome({ ...receipt, ...effect, after }, entry.round),
    receipt,
    seen: all,
    minedBlock:
      timestamp === undefined ? undefined : { number: blockNumber, timestamp },
    isFinal: seen.problem !== "unreadable",
  };
}

/** A transaction that runs no code uses this much, and none uses less. */
const PLAIN_GAS = 21_000n;

/**
 * Whether the round that was meant was the current one until this very
 * transaction, and not after it, though the block ends with another one: as with
 * a contract that opens its next round when it settles.
 */
async function isProven(
  vault: VaultHost,
  entry: JournalEntry,
  receipt: Receipt,
): Promise<boolean> {
  for (const prove of [ranAlone, isReplayed]) {
    try {
      if (await prove(vault, entry, receipt)) {
        return true;
      }
    } catch {
      // What cannot be read proves nothing.
    }
  }
  return false;
}

/** Everything else in the block ran no code, so nothing else put it there. */
async function ranAlone(
  vault: VaultHost,
  { round: before, vault: target }: JournalEntry,
  { blockNumber, gasUsed, place }: Receipt,
): Promise<boolean> {
  if (place === undefined) {
    return false;
  }
  const { index, gasBefore } = place;
  const block = await vault.chain.usage(blockNumber);
  const others = BigInt(block.transactions - 1);
  if (
    gasBefore !== BigInt(index) * PLAIN_GAS ||
    block.gasUsed !== gasUsed + others * PLAIN_GAS
  ) {
    return false;
  }
  const seen = await observe(vault, target, blockNumber - 1);
  const round = await seen.round();
  return isSameRound(round, before) && !round.settled;
}

/** The block was executed again as far as that, and it went the same way. */
async function isReplayed(
  vault: VaultHost,
  { round: meant }: JournalEntry,
  receipt: Receipt,
): Promise<boolean> {
  const rounds = await replaySettlement(vault, receipt);
  return (
    rounds !== undefined &&
    isSameRound(rounds.before, meant) &&
    !rounds.before.settled &&
    (rounds.after.settled || !isSameRound(rounds.after, meant))
  );
}

function describeEffect(
  before: VaultRound,
  blockNumber: number,
  { round: after, problem }: RoundAfter,
): Known {
  if (after !== undefined && after.settled && isSameRound(after, before)) {
    return { status: "settled" };
  }
  const notConfirmed = (reason: string): Known => ({
    status: "unconfirmed",
    reason,
  });
  if (problem === "moved on") {
    return notConfirmed(
      `It was mined in block ${blockNumber} without a revert, but the node has no state of that block any more, and the vault is in another round by now: which one was settled, an archive node can tell.`,
    );
  }
  if (after === undefined) {
    return notConfirmed(
      `It was mined in block ${blockNumber}, but the round could not be read afterwards, so what it settled is not known.`,
    );
  }
  if (isSameRound(after, before)) {
    return notConfirmed(
      `MISMATCH: it was mined in block ${blockNumber} without a revert, but ${describeRound(after)} is not settled in that block.`,
    );
  }
  return notConfirmed(
    `MISMATCH: it was meant for ${describeRound(before)}, but in block ${blockNumber} the vault is in another one, ${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
  );
}

/** The round in the transaction's block, or why it is not known. */
interface RoundAfter {
  readonly round?: VaultRound;
  /** Of that block, where it came along. */
  readonly timestamp?: number | undefined;
  readonly all?: SnapshotWithBalances;
  /** `moved on`: only a later round could be read, which says nothing. */
  readonly problem?: "moved on" | "unreadable";
}

/**
 * Reads the round in the transaction's own block, so that a round that opens
 * later is not taken for it; at the newest block where the node keeps no old
 * state, as long as that has the same round.
 */
async function readAfter(
  vault: VaultHost,
  { round: before, vault: target }: JournalEntry,
  blockNumber: number,
  see: SeeBlock | undefined,
): Promise<RoundAfter> {
  try {
    const all = await see?.(vault, blockNumber);
    if (all !== undefined && !isFailedReading(all.snapshot.round)) {
      const { round, block } = all.snapshot;
      return { round, timestamp: block.timestamp, all };
    }
    const { round, timestamp } = await observe(vault, target, blockNumber);
    return { round: await round(), timestamp };
  } catch {
    // No state of that block, or no answer: the newest block may tell.
  }
  try {
    const { number } = await vault.block("latest");
    if (number < blockNumber) {
      return { problem: "unreadable" };
    }
    const round = await (await observe(vault, target, number)).round();
    return isSameRound(round, before) ? { round } : { problem: "moved on" };
  } catch {
    return { problem: "unreadable" };
  }
}

/**
 * A receipt has no reason, so the call is made again where it failed. What used
 * up its gas would say nothing then, with more of it.
 */
async function findReason(
  vault: VaultHost,
  { transaction: { from, to, data, gas } }: JournalEntry,
  { blockNumber, gasUsed }: Receipt,
): Promise<Pick<Settlement, "code" | "reason">> {
  if (isUsedUp({ gasUsed, gasGiven: gas })) {
    return outOfGas(vault.networkName, true, {
      gas,
      limit: "it was given",
      remedy:
        "Give it more (gas, or gasMultiplier, of the network's configuration)",
    });
  }
  for (const block of [blockNumber, blockNumber - 1]) {
    try {
      const reverted = await vault.chain.simulate({ from, to, data }, block);
      if (reverted !== undefined) {
        return await explainRefusal(vault, reverted.reason);
      }
    } catch {
      // No old state, or no node: the outcome stands without its reason.
    }
  }
  return {
    code: "VAULT_CALL_REVERTED",
    reason: "the reason could not be found out",
  };
}

import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
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
import type { Settlement } from "./types.js";

/** For whoever reads of a transaction that is still on its way. */
export const TAKE_UP = "The option `resume` of settleAll() takes it up again.";

/** What became of a settlement that may have left. */
export interface Report {
  readonly settlement: Settlement;
  /** Of the transaction, where its time came along. */
  readonly minedBlock?: BlockInfo | undefined;
  /** Undefined if it is not mined, as far as is known. */
  readonly receipt?: Receipt | undefined;
  /** All that there is to see of its block, where that was asked for. */
  readonly seen?: VaultSnapshot | undefined;
  /** False where asking again can tell more. */
  readonly isFinal: boolean;
}

/**
 * Says what a transaction that was followed did. Never throws.
 *
 * @param vault Whose patience is for all that is read here together.
 * @param readsAll Whether all readings of its block are wanted.
 */
export async function report(
  vault: VaultHost,
  entry: JournalEntry,
  end: FollowOutcome,
  readsAll: boolean,
): Promise<Report> {
  if (end.kind === "mined") {
    return await reportMined(vault, entry, end.receipt, readsAll);
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
  readsAll: boolean,
): Promise<Report> {
  const { blockNumber } = receipt;
  // Who gave the receipt has it; another node may be behind.
  noteBlock(vault.provider, blockNumber);
  const seen = await readAfter(vault, entry, blockNumber, readsAll);
  const { round: after, timestamp, all } = seen;
  const effect: Known = receipt.succeeded
    ? await describeEffect(vault, entry, blockNumber, seen)
    : { status: "reverted", ...(await findReason(vault, entry, receipt)) };
  return {
    settlement: outcome({ ...receipt, ...effect, after }, entry.round),
    receipt,
    seen: all,
    minedBlock:
      timestamp === undefined ? undefined : { number: blockNumber, timestamp },
    isFinal: seen.problem !== "unreadable",
  };
}

async function describeEffect(
  vault: VaultHost,
  { round: before, vault: target }: JournalEntry,
  blockNumber: number,
  { round: after, problem }: RoundAfter,
): Promise<Known> {
  const mined = `It was mined in block ${blockNumber} without a revert, but`;
  const unknown: Known = {
    status: "unconfirmed",
    reason: `${mined} the node has no state of that block, or of the one before, any more, and the vault is in another round by now: which one was settled, an archive node can tell.`,
  };
  if (problem === "moved on") {
    return unknown;
  }
  if (after === undefined) {
    return {
      status: "unconfirmed",
      reason: `${mined} the round could not be read afterwards, so what it settled is not known.`,
    };
  }
  if (isSameRound(after, before)) {
    return after.settled
      ? { status: "settled" }
      : {
          status: "not-settled",
          reason: `${mined} ${describeRound(after)} is not settled in that block.`,
        };
  }
  let previous: VaultRound;
  try {
    const seen = await observe(vault, target, blockNumber - 1);
    previous = await seen.round();
  } catch {
    return unknown;
  }
  return isSameRound(previous, before) && !previous.settled
    ? {
        status: "settled",
        reason: `The vault is in its next round already in block ${blockNumber}, and was in the one that was meant, unsettled, one block before. That this transaction settled it cannot be seen: another one of that block may have opened the next round first.`,
      }
    : {
        status: "not-settled",
        reason: `MISMATCH: it was meant for ${describeRound(before)}, but in block ${blockNumber} the vault is in another one, ${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
      };
}

/** The round in the transaction's block, or why it is not known. */
interface RoundAfter {
  readonly round?: VaultRound;
  /** Of that block, where it came along. */
  readonly timestamp?: number | undefined;
  readonly all?: VaultSnapshot;
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
  readsAll: boolean,
): Promise<RoundAfter> {
  try {
    const all = readsAll
      ? await vault.snapshot({ blockTag: blockNumber })
      : undefined;
    if (all !== undefined && !isFailedReading(all.round)) {
      return { round: all.round, timestamp: all.block.timestamp, all };
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
        "Give it more (gas, or gasMultiplier, of the network's configuration).",
    });
  }
  for (const block of [blockNumber, blockNumber - 1]) {
    try {
      const call = { from, to, data };
      const reverted = await vault.chain.simulate(call, block, gas);
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

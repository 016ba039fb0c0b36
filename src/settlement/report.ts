import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { BlockInfo, Receipt } from "../rpc/rpc-client.js";
import { changesBetween, readingsIn } from "../simulation/compare-readings.js";
import { explainRefusal, isUsedUp, outOfGas } from "../simulation/refusal.js";
import { NATIVE, transfersIn } from "../simulation/tokens.js";
import type {
  ReadingChange,
  Simulation,
  Transfer,
} from "../simulation/types.js";
import type { FollowOutcome } from "./follow-transaction.js";
import type { JournalEntry } from "./journal.js";
import { observe } from "./observe.js";
import type { PreviewDifference, Settlement } from "./types.js";

export interface Ended {
  readonly settlement: Settlement;
  readonly chainId: number;
  /** Block of the transaction, if it was seen. */
  readonly block?: BlockInfo | undefined;
  /** False if a later check can find more. */
  readonly isFinal: boolean;
  readonly refusal?: VaultError | undefined;
  /** Reason of a settlement to resume, without the advice for JavaScript. */
  readonly openReason?: string;
}

type Known = Pick<Settlement, "status"> & {
  readonly [Key in keyof Settlement]?: Settlement[Key] | undefined;
} & { readonly differences?: readonly PreviewDifference[] | null };

/** Fills in null for values that are not known. */
export function outcome(
  { status, differences = null, ...known }: Known,
  before: VaultRound | undefined,
  previewed: Simulation | null,
): Settlement {
  return {
    status,
    code: known.code ?? null,
    reason: known.reason ?? null,
    hash: known.hash ?? null,
    blockNumber: known.blockNumber ?? null,
    gasUsed: known.gasUsed ?? null,
    before: before ?? null,
    after: known.after ?? null,
    preview: previewed === null ? null : { ...previewed, differences },
  };
}

/** Describes a settlement that was finished earlier, and the current round. */
export function describeFinished(
  { round, mined, transaction }: JournalEntry,
  current: VaultRound,
): Settlement {
  const end =
    mined === undefined
      ? "without a transaction that was mined"
      : `${mined.status} in block ${mined.blockNumber}`;
  const now = isSameRound(round, current)
    ? "It is the current round still"
    : `The current round is ${describeRound(current)}`;
  const settled = current.settled ? "settled" : "not settled";
  const known = {
    status: "nothing-to-do",
    reason: `The settlement of ${describeRound(round)} is finished: ${end}. ${now}, ${settled}.`,
    hash: mined === undefined ? undefined : transaction.hash,
    blockNumber: mined?.blockNumber,
  } as const;
  return outcome(known, round, null);
}

/** Describes the effect of a followed transaction, compared with the preview. */
export async function report(
  vault: VaultHost,
  { round: before, transaction }: JournalEntry,
  end: FollowOutcome,
  previewed: Simulation | null,
  confirmations = 1,
): Promise<Ended> {
  const { chainId } = transaction;
  if (end.kind !== "mined") {
    const isFinal = end.kind === "dropped";
    // In process there is no journal to resume from.
    const canResume =
      !isFinal && vault.connection.networkConfig.type === "http";
    const wanted = confirmations > 1 ? `, confirmations: ${confirmations}` : "";
    const reason = canResume
      ? `${end.reason} settleAll({ resume: true${wanted} }) takes it up again.`
      : end.reason;
    const known = { ...end.receipt, ...end, reason };
    const settlement = outcome(known, before, previewed);
    const open = canResume ? { openReason: end.reason } : {};
    return { settlement, isFinal, chainId, ...open };
  }
  const { receipt } = end;
  // The receipt proves that a node behind this provider has that block.
  vault.rpc.noteBlock(receipt.blockNumber);
  const seen = await readAfter(vault, before, receipt.blockNumber, previewed);
  const known: Known = {
    ...receipt,
    ...(receipt.succeeded !== false
      ? await describeEffect(vault, before, receipt.blockNumber, seen)
      : {
          status: "reverted" as const,
          ...(await findReason(vault, transaction, receipt)),
        }),
    after: seen.round,
    differences:
      previewed === null || seen.all === undefined
        ? null
        : await findDifferences(vault, previewed, receipt, seen.all),
  };
  return {
    settlement: outcome(known, before, previewed),
    chainId,
    block: seen.block,
    isFinal: seen.round !== undefined || seen.isElsewhere === true,
  };
}

/** State after the transaction, as far as it can be read. */
interface After {
  readonly block?: BlockInfo;
  readonly round?: VaultRound;
  /** All readings, for the comparison with a preview. */
  readonly all?: VaultSnapshot;
  /** True if only a later round could be read. */
  readonly isElsewhere?: boolean;
}

/**
 * Reads the round at the transaction's block, or at the newest block if the node keeps no
 * old state and the round is still the same.
 */
async function readAfter(
  vault: VaultHost,
  before: VaultRound,
  blockTag: number,
  previewed: Simulation | null,
): Promise<After> {
  const all =
    previewed === null
      ? undefined
      : await vault.snapshot({ blockTag }).catch(fallbackTo(undefined));
  if (all !== undefined && !isFailedReading(all.round)) {
    return { block: all.block, round: all.round, all };
  }
  const seen = await tryObserve(vault, blockTag);
  if (seen !== undefined) {
    return seen;
  }
  const newest = await tryObserve(vault, "latest");
  if (newest === undefined || newest.block.number < blockTag) {
    return {};
  }
  const { round } = newest;
  return isSameRound(round, before) ? { round } : { isElsewhere: true };
}

async function tryObserve(vault: VaultHost, block: number | "latest") {
  return await observe(vault, block).catch(fallbackTo(undefined));
}

async function describeEffect(
  vault: VaultHost,
  before: VaultRound,
  blockNumber: number,
  { round: after, isElsewhere }: After,
): Promise<Known> {
  const end = (status: Known["status"], what: string): Known => ({
    status,
    reason: `It was mined in block ${blockNumber} without a revert, but ${what}`,
  });
  const unknown = end(
    "unconfirmed",
    "the node no longer has the state of that block or the one before, and the vault is in another round by now. Only an archive node can show which round was settled.",
  );
  if (after === undefined) {
    const unread =
      "the round could not be read afterwards, so what it settled is not known.";
    return isElsewhere === true ? unknown : end("unconfirmed", unread);
  }
  if (isSameRound(after, before)) {
    const unsettled = `${describeRound(after)} is not settled in that block.`;
    return after.settled
      ? { status: "settled" }
      : end("not-settled", unsettled);
  }
  const previous = await tryObserve(vault, blockNumber - 1);
  if (previous === undefined) {
    return unknown;
  }
  return isSameRound(previous.round, before) && !previous.round.settled
    ? {
        status: "settled",
        reason: `The vault is in its next round already in block ${blockNumber}, and was in the one that was meant, unsettled, one block before. That this transaction settled it cannot be seen: another one of that block may have opened the next round first.`,
      }
    : {
        status: "not-settled",
        reason: `MISMATCH: it was meant for ${describeRound(before)}, but in block ${blockNumber} the vault is in another one, ${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
      };
}

/** A receipt has no revert reason, so the call is simulated at its block. */
async function findReason(
  vault: VaultHost,
  { from, to, data, gas }: JournalEntry["transaction"],
  { blockNumber, gasUsed }: Receipt,
): Promise<Pick<Known, "code" | "reason">> {
  if (isUsedUp({ gasUsed, gasGiven: gas })) {
    const remedy =
      "Give it more (gas, or gasMultiplier, of the network's configuration).";
    return outOfGas(vault.networkName, true, gas, "it was given", remedy);
  }
  const reverted = await vault.rpc
    .simulate({ from, to, data }, blockNumber, gas)
    // The outcome is known even without a reason.
    .catch(fallbackTo(undefined));
  const reason = "the reason could not be found out";
  return reverted === undefined
    ? { code: "VAULT_CALL_REVERTED", reason }
    : await explainRefusal(vault, reverted);
}

/**
 * Compares readings and token transfers with the preview. Effects of other transactions
 * in the block count, too.
 *
 * @returns Null if the transaction reverted, or the block before cannot be read.
 */
export async function findDifferences(
  vault: VaultHost,
  { changes: previewed, transfers }: Simulation,
  { succeeded, blockNumber, logs }: Receipt,
  after: VaultSnapshot,
): Promise<readonly PreviewDifference[] | null> {
  const before =
    succeeded !== false
      ? await vault
          .snapshot({ blockTag: blockNumber - 1 })
          .catch(fallbackTo(undefined))
      : undefined;
  if (before === undefined || isFailedReading(before.round)) {
    return null;
  }
  const changes = changesBetween(readingsIn(before), readingsIn(after));
  const happened = transfersIn(logs);
  return transfers === null || happened === undefined
    ? compareChanges(previewed, changes)
    : compareChanges(
        [...previewed, ...sumsOf(transfers)],
        [...changes, ...sumsOf(happened)],
      );
}

function compareChanges(
  previewed: readonly ReadingChange[],
  happened: readonly ReadingChange[],
): readonly PreviewDifference[] {
  const byKey = (
    changes: readonly ReadingChange[],
  ): ReadonlyMap<string, ReadingChange> =>
    new Map(
      changes.map((change) => [`${change.reading} ${change.field}`, change]),
    );
  const [expected, actual] = [byKey(previewed), byKey(happened)];
  return [...byKey([...previewed, ...happened])]
    .map(([key, unchanged]) => ({
      reading: unchanged.reading,
      field: unchanged.field,
      // A value that is not listed did not change.
      previewed: (expected.get(key) ?? { after: unchanged.before }).after,
      happened: (actual.get(key) ?? { after: unchanged.before }).after,
    }))
    .filter((one) => one.previewed !== one.happened);
}

/** Sums the transfers of each token between two accounts. */
function sumsOf(transfers: readonly Transfer[]): readonly ReadingChange[] {
  const sums = new Map<string, bigint>();
  for (const { token, from, to, amount } of transfers) {
    // A receipt does not record native transfers.
    if (token !== NATIVE) {
      const field = `${token} from ${from} to ${to}`;
      sums.set(field, (sums.get(field) ?? 0n) + amount);
    }
  }
  return [...sums].map(([field, after]) => ({
    reading: "transfers",
    field,
    before: 0n,
    after,
  }));
}

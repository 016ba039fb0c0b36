import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import { parseGuarded } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { describeRound, isSameRound } from "../protocol/round.js";
import type { BlockInfo, Receipt } from "../rpc/rpc-client.js";
import type { SettlementRoute } from "../simulation/engine.js";
import { changesBetween, readingsIn } from "../simulation/compare-readings.js";
import { explainRefusal, isUsedUp, outOfGas } from "../simulation/refusal.js";
import { NATIVE, transfersIn } from "../simulation/tokens.js";
import type {
  ReadingChange,
  Simulation,
  Transfer,
} from "../simulation/types.js";
import type { Outcome } from "./decide.js";
import type { JournalEntry, Reported } from "./journal.js";
import { observe } from "./observe.js";
import { describeSettler } from "./settler.js";
import { withoutTime } from "./without-time.js";
import type { PreviewDifference, Settlement } from "./types.js";
import { settlingBlock, whoseEffect } from "./whose.js";

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
    hashes:
      known.hashes ??
      (typeof known.hash === "string" && status !== "nothing-to-do"
        ? [known.hash]
        : []),
    guard: known.guard ?? null,
    blockNumber: known.blockNumber ?? null,
    gasUsed: known.gasUsed ?? null,
    before: before ?? null,
    after: known.after ?? null,
    preview: previewed === null ? null : { ...previewed, differences },
    differences: previewed === null ? null : differences,
  };
}

export function withGuard(ended: Ended, guard: string | null): Ended {
  return { ...ended, settlement: { ...ended.settlement, guard } };
}

/** Describes a settlement that was finished earlier, and the current round. */
export function describeFinished(
  { round, mined }: JournalEntry,
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
    hash: mined?.hash,
    blockNumber: mined?.blockNumber,
  } as const;
  return outcome(known, round, null);
}

/** The transaction that was mined is in {@link Reported}. */
type ReportedEnd =
  | Exclude<Outcome, { readonly kind: "mined" }>
  | Omit<Extract<Outcome, { readonly kind: "mined" }>, "transaction">;

/** Describes the effect of a followed transaction, compared with the preview. */
export async function report(
  vault: VaultHost,
  entry: Reported,
  end: ReportedEnd,
  previewed: Simulation | null,
  confirmations = 1,
): Promise<Ended> {
  const { round: before, transaction } = entry;
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
  const earlier = await readBefore(vault, receipt, seen, previewed);
  const known: Known = {
    ...receipt,
    ...(receipt.succeeded
      ? await describeEffect(vault, entry, receipt, seen, earlier, previewed)
      : {
          status: "reverted" as const,
          ...(await findReason(vault, entry, receipt)),
        }),
    after: seen.round,
    differences:
      previewed === null || seen.all === undefined
        ? null
        : await differencesByMoreThanTime(
            vault,
            previewed,
            receipt,
            earlier.all,
            seen.all,
          ),
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

/** State one block before the transaction's, as far as it can be read and is needed. */
async function readBefore(
  vault: VaultHost,
  { blockNumber, succeeded }: Receipt,
  { all, round }: After,
  previewed: Simulation | null,
): Promise<Pick<After, "all" | "round">> {
  if (!succeeded || round === undefined) {
    return {};
  }
  const blockTag = blockNumber - 1;
  const before =
    previewed === null || all === undefined
      ? undefined
      : await vault.snapshot({ blockTag }).catch(fallbackTo(undefined));
  return before !== undefined && !isFailedReading(before.round)
    ? { all: before, round: before.round }
    : ((await tryObserve(vault, blockTag)) ?? {});
}

async function tryObserve(vault: VaultHost, block: number | "latest") {
  return await observe(vault, block).catch(fallbackTo(undefined));
}

async function describeEffect(
  vault: VaultHost,
  { round: before, sentAfterBlock }: Reported,
  receipt: Receipt,
  { round: after, isElsewhere }: After,
  { round: previous }: Pick<After, "round">,
  previewed: Simulation | null,
): Promise<Known> {
  const { blockNumber } = receipt;
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
  const isSame = isSameRound(after, before);
  if (isSame && !after.settled) {
    const unsettled = `${describeRound(after)} is not settled in that block.`;
    return end("not-settled", unsettled);
  }
  const wasSame = previous !== undefined && isSameRound(previous, before);
  if (isSame && wasSame && previous.settled) {
    const last = blockNumber - 1;
    const block = await settlingBlock(vault, sentAfterBlock, last);
    const where =
      block === undefined ? `block ${last} or before` : `block ${block}`;
    return settledByOther(receipt, `in ${where}`);
  }
  const elsewhere: Known = {
    status: "not-settled",
    reason: `MISMATCH: it was meant for ${describeRound(before)}, but in block ${blockNumber} the vault is in another one, ${describeRound(after)}, settled: ${after.settled ? "yes" : "no"}. Look at that block: the round may have changed just before this transaction, which then settled the other one.`,
  };
  if (!isSame && previous === undefined) {
    return unknown;
  }
  if (!isSame && (!wasSame || previous.settled)) {
    return elsewhere;
  }
  const whose = await whoseEffect(vault, before, receipt, previewed, wasSame);
  if (typeof whose === "object") {
    const { without } = whose;
    const isUnchanged =
      isSameRound(without, after) && without.settled === after.settled;
    return isUnchanged
      ? settledByOther(
          receipt,
          `by a transaction that comes earlier in block ${blockNumber}`,
        )
      : elsewhere;
  }
  return whose === "ours"
    ? { status: "settled" }
    : {
        status: "settled",
        reason: wasSame
          ? `The round is settled${isSame ? "" : ", and the vault is in its next round,"} at the end of block ${blockNumber}, and was not one block before. Other transactions of that block may have settled it, and the node shows no state between them: whose settlement it is is not known.`
          : `The round is settled at the end of block ${blockNumber}, but the node no longer has the state of the block before: whose settlement it is is not known.`,
      };
}

function settledByOther({ blockNumber, hash }: Receipt, where: string): Known {
  return {
    status: "nothing-to-do",
    reason: `The round was settled by somebody else, ${where}. This transaction was mined after that, in block ${blockNumber}, and settled nothing.`,
    hash,
    hashes: [hash],
  };
}

/**
 * A receipt has no revert reason, so the call is simulated at its block. If it used up its
 * gas, it gets all of the block's: a contract that has another reason has it still.
 */
async function findReason(
  vault: VaultHost,
  entry: Reported,
  receipt: Receipt,
): Promise<Partial<Known>> {
  const { from, to, data, gas } = entry.transaction;
  const { blockNumber, gasUsed, hash } = receipt;
  const isUp = isUsedUp({ gasUsed, gasGiven: gas });
  const ask = async () => {
    const most = isUp ? (await vault.rpc.getBlock(blockNumber)).gasLimit : gas;
    const call = { from, to, data };
    return { reverted: await vault.rpc.simulate(call, blockNumber, most) };
  };
  // The outcome is known even without a reason.
  const asked = await ask().catch(fallbackTo(undefined));
  const reverted = asked?.reverted;
  if (isUp && (reverted === undefined || reverted.kind === "none")) {
    const remedy =
      "Give it more (gas, or gasMultiplier, of the network's configuration).";
    const isCertain = asked !== undefined;
    return outOfGas(vault.networkName, isCertain, gas, "it was given", remedy);
  }
  const reason = "the reason could not be found out";
  if (reverted === undefined) {
    return { code: "VAULT_CALL_REVERTED", reason };
  }
  const refusal = await explainRefusal(vault, reverted, routeOf(entry));
  if (refusal.code !== null) {
    return refusal;
  }
  const settler = await describeSettler(vault, entry, blockNumber);
  return {
    status: "nothing-to-do",
    reason: `The transaction was mined in block ${blockNumber} and refused by the guard: ${settler}`,
    hashes: [hash],
  };
}

/** The way of a transaction in the journal. */
function routeOf({ guard, transaction }: Reported): SettlementRoute {
  const { from, to, data } = transaction;
  return {
    from,
    vault: to,
    ...(guard !== undefined && parseGuarded(guard, data)),
  };
}

/**
 * Compares readings and token transfers with the preview. Effects of other transactions
 * in the block count, too.
 *
 * @returns Null if the transaction reverted, the block before cannot be read, or nothing
 * differs of the readings and the transfers could not be compared.
 */
export function findDifferences(
  { changes: previewed, transfers }: Simulation,
  { succeeded, logs }: Receipt,
  before: VaultSnapshot | undefined,
  after: VaultSnapshot,
): readonly PreviewDifference[] | null {
  if (!succeeded || before === undefined || isFailedReading(before.round)) {
    return null;
  }
  const changes = changesBetween(readingsIn(before), readingsIn(after));
  const happened = transfersIn(logs);
  if (transfers === null || happened === undefined) {
    const differences = compareChanges(previewed, changes);
    return differences.length === 0 ? null : differences;
  }
  return compareChanges(
    [...previewed, ...sumsOf(transfers)],
    [...changes, ...sumsOf(happened)],
  );
}

/** The differences, without what only time moves. */
async function differencesByMoreThanTime(
  vault: VaultHost,
  previewed: Simulation,
  receipt: Receipt,
  before: VaultSnapshot | undefined,
  after: VaultSnapshot,
): Promise<readonly PreviewDifference[] | null> {
  const found = findDifferences(previewed, receipt, before, after);
  if (found === null || found.length === 0) {
    return found;
  }
  const { changes, transfers } = previewed;
  const left = await withoutTime(vault, found, changes, after.block);
  const hasTransfers =
    transfers !== null && transfersIn(receipt.logs) !== undefined;
  return left.length === 0 && !hasTransfers ? null : left;
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

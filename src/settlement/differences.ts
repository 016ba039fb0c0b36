import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { VaultHost } from "../host.js";
import { changesBetween, readingsIn } from "../simulation/compare-readings.js";
import type { Receipt } from "../rpc/transactions.js";
import { NATIVE, transfersIn } from "../simulation/tokens.js";
import type {
  ReadingChange,
  Simulation,
  Transfer,
} from "../simulation/types.js";
import { withoutTime } from "./without-time.js";
import type { PreviewDifference } from "./types.js";

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
  if (
    succeeded === false ||
    before === undefined ||
    isFailedReading(before.round)
  ) {
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
export async function differencesByMoreThanTime(
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

import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Receipt } from "../rpc/rpc-client.js";
import { changesBetween, readingsIn } from "../simulation/compare-readings.js";
import { NATIVE, transfersIn } from "../simulation/tokens.js";
import type {
  ReadingChange,
  Simulation,
  Transfer,
} from "../simulation/types.js";
import type { PreviewDifference } from "./types.js";

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
  const before = succeeded
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

import { toQuantity } from "ethers";

import { decodeOrThrow, encodeCall } from "../client/codec.js";
import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import { standaloneQueries } from "../protocol/index.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { callContract } from "../rpc/calls.js";
import type { Receipt } from "../rpc/transactions.js";
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
 * @returns Null if the transaction reverted, the block before cannot be read, or no reading
 * differs and the receipt has no logs to find transfers in.
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
  if (happened === undefined || transfers === null) {
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
  const left = await withoutTime(vault, found, previewed.changes, after.block);
  const hasTransfers =
    previewed.transfers !== null && transfersIn(receipt.logs) !== undefined;
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

/**
 * Leaves out values that only the clock moves: the preview has no change of them, and the
 * state before the block has the same value at the block's time. If the node cannot
 * execute a call at another time, they stay.
 */
async function withoutTime(
  vault: VaultHost,
  differences: readonly PreviewDifference[],
  previewed: readonly ReadingChange[],
  { number, timestamp }: BlockInfo,
): Promise<readonly PreviewDifference[]> {
  const isPreviewed = ({ reading, field }: PreviewDifference): boolean =>
    previewed.some((one) => one.reading === reading && one.field === field);
  const suspects = new Set(
    differences.flatMap((one) => (isPreviewed(one) ? [] : one.reading)),
  );
  const moved = new Map<string, unknown>();
  for (const { path, operation, args } of standaloneQueries) {
    const reading = path.join(".");
    if (suspects.has(reading)) {
      const call = encodeCall(operation, args);
      const value = await readLater(vault, call, number, timestamp).catch(
        fallbackTo(undefined, ({ kind }) => kind !== "bug"),
      );
      moved.set(reading, value);
    }
  }
  return differences.filter((one) => {
    const value = moved.get(one.reading);
    const fields = asRecord(value);
    const atTime = fields === value ? fields[one.field] : value;
    return isPreviewed(one) || atTime === undefined || atTime !== one.happened;
  });
}

/** Reads the state before a block as of the block's number and time. */
async function readLater(
  vault: VaultHost,
  call: ReturnType<typeof encodeCall>,
  number: number,
  timestamp: number,
): Promise<unknown> {
  const target = await vault.addressOf(call.role, call.operation);
  const { from } = vault.readContext({});
  const answer = await callContract(
    vault.rpc,
    { from, to: target.address, data: call.data },
    number - 1,
    {},
    { number: toQuantity(number), time: toQuantity(timestamp) },
  );
  return decodeOrThrow({
    call,
    target,
    network: vault.networkName,
    answer,
    lacksCode: false,
  });
}

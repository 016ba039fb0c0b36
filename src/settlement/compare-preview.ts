import { isFailedReading } from "../client/failed-reading.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import type { VaultHost } from "../host.js";
import type { Receipt } from "../rpc/node.js";
import { NATIVE } from "../rehearsal/balances.js";
import { changesBetween, readingsIn } from "../rehearsal/compare-readings.js";
import { parseLogs, transfersOf } from "../rehearsal/transfers.js";
import type {
  ReadingChange,
  ReadingValue,
  Simulation,
  Transfer,
} from "../rehearsal/types.js";
import type { Report } from "./report.js";
import type { PreviewDifference, SettlementPreview } from "./types.js";

/** A preview, and what came otherwise once it was mined. Never throws. */
export async function comparePreview(
  vault: VaultHost,
  previewed: Simulation | null,
  { receipt, seen: after }: Pick<Report, "receipt" | "seen">,
): Promise<SettlementPreview | null> {
  if (previewed === null) {
    return null;
  }
  let differences: readonly PreviewDifference[] | null = null;
  if (receipt?.succeeded === true && after !== undefined) {
    try {
      const before = await vault.snapshot({
        blockTag: receipt.blockNumber - 1,
      });
      differences = findDifferences(previewed, receipt, before, after);
    } catch {
      // It happened, whether or not this node can tell how.
    }
  }
  return { ...previewed, differences };
}

/**
 * What came otherwise in the readings and the tokens that moved. Others'
 * transactions in the same block are part of what came.
 */
function findDifferences(
  { changes: previewed, transfers }: Simulation,
  { logs }: Receipt,
  before: VaultSnapshot,
  after: VaultSnapshot,
): readonly PreviewDifference[] | null {
  if (isFailedReading(before.round)) {
    return null;
  }
  const changes = changesBetween(readingsIn(before), readingsIn(after));
  const happened = parseLogs(logs);
  return [
    ...compareChanges(previewed, changes),
    ...(transfers === null || happened === undefined
      ? []
      : compareTransfers(transfers, transfersOf(happened))),
  ];
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
  // What was not to change, or did not, is as it was before.
  return [...byKey([...previewed, ...happened])].flatMap(
    ([key, { reading, field, before }]) =>
      differing(
        reading,
        field,
        (expected.get(key) ?? { after: before }).after,
        (actual.get(key) ?? { after: before }).after,
      ),
  );
}

/** Of ERC-20 tokens alone. */
function compareTransfers(
  previewed: readonly Transfer[],
  happened: readonly Transfer[],
): readonly PreviewDifference[] {
  const keyOf = ({ token, from, to }: Transfer): string =>
    `${token} from ${from} to ${to}`;
  const sumOf = (transfers: readonly Transfer[], key: string): bigint =>
    transfers
      .filter((transfer) => keyOf(transfer) === key)
      .reduce((sum, { amount }) => sum + amount, 0n);
  const tokens = [...previewed, ...happened].filter(
    ({ token }) => token !== NATIVE,
  );
  return [...new Set(tokens.map(keyOf))].flatMap((field) =>
    differing(
      "transfers",
      field,
      sumOf(previewed, field),
      sumOf(happened, field),
    ),
  );
}

function differing(
  reading: string,
  field: string,
  previewed: ReadingValue,
  happened: ReadingValue,
): readonly PreviewDifference[] {
  return previewed === happened
    ? []
    : [{ reading, field, previewed, happened }];
}

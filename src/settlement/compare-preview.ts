import { isFailedReading } from "../client/failed-reading.js";
import type { VaultHost } from "../host.js";
import type { Receipt } from "../rpc/node.js";
import { NATIVE } from "../rehearsal/balances.js";
import { compareReadings } from "../rehearsal/compare-readings.js";
import { parseLogs, transfersOf } from "../rehearsal/transfers.js";
import type {
  ReadingChange,
  ReadingValue,
  Simulation,
  Transfer,
} from "../rehearsal/types.js";
import type { PreviewDifference, SettlementPreview } from "./types.js";

/** A preview, and what came otherwise once it was mined. Never throws. */
export async function comparePreview(
  vault: VaultHost,
  previewed: Simulation | null,
  receipt: Receipt | undefined,
): Promise<SettlementPreview | null> {
  if (previewed === null) {
    return null;
  }
  let differences: readonly PreviewDifference[] | null = null;
  if (receipt?.succeeded === true) {
    try {
      differences = await findDifferences(vault, previewed, receipt);
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
async function findDifferences(
  vault: VaultHost,
  previewed: Simulation,
  { blockNumber, logs }: Receipt,
): Promise<readonly PreviewDifference[] | null> {
  const [before, after] = await Promise.all([
    vault.snapshot({ blockTag: blockNumber - 1 }),
    vault.snapshot({ blockTag: blockNumber }),
  ]);
  if (isFailedReading(before.round) || isFailedReading(after.round)) {
    return null;
  }
  const changes = compareReadings(
    { snapshot: before, orders: [] },
    { snapshot: after, orders: [] },
    [],
  );
  const happened = parseLogs(logs);
  return [
    ...compareChanges(previewed.changes, changes),
    ...(previewed.transfers === null || happened === undefined
      ? []
      : compareTransfers(previewed.transfers, transfersOf(happened))),
  ];
}

function compareChanges(
  previewed: readonly ReadingChange[],
  happened: readonly ReadingChange[],
): readonly PreviewDifference[] {
  const keyOf = ({ reading, field }: ReadingChange): string =>
    `${reading} ${field}`;
  const [one, other] = [previewed, happened].map(
    (changes) => new Map(changes.map((change) => [keyOf(change), change])),
  );
  const all = new Map([...previewed, ...happened].map((c) => [keyOf(c), c]));
  return [...all].flatMap(([key, { reading, field, before }]) => {
    // What was not to change, or did not, is as it was before.
    const values: readonly ReadingValue[] = [one, other].map((changes) => {
      const change = changes?.get(key);
      return change === undefined ? before : change.after;
    });
    const [expected = null, actual = null] = values;
    return expected === actual
      ? []
      : [{ reading, field, previewed: expected, happened: actual }];
  });
}

/** Native currency leaves no trace in a receipt, and is not compared. */
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
  return [...new Set(tokens.map(keyOf))].flatMap((field) => {
    const [expected, actual] = [
      sumOf(previewed, field),
      sumOf(happened, field),
    ];
    return expected === actual
      ? []
      : [
          {
            reading: "transfers",
            field,
            previewed: expected,
            happened: actual,
          },
        ];
  });
}

import type { VaultSnapshot } from "../client/snapshot.js";
import type { Receipt } from "../rpc/transactions.js";
import { readingsIn, valueIn } from "../simulation/watch-list.js";
import { NATIVE, transfersIn } from "../simulation/tokens.js";
import type { Simulation, Transfer } from "../simulation/types.js";
import type { PreviewDifference } from "./types.js";

/**
 * Finds the previewed changes that did not come, and the token transfers that are not as
 * previewed. Effects of other transactions in the block count, too.
 *
 * @param after The readings in the block of the transaction.
 * @returns Null if the transaction reverted, or no change differs and the transfers are not
 * known.
 */
export function findDifferences(
  { changes, transfers }: Simulation,
  { succeeded, logs }: Receipt,
  after: VaultSnapshot,
): readonly PreviewDifference[] | null {
  if (succeeded === false) {
    return null;
  }
  const readings = readingsIn(after);
  const values = changes.map(({ reading, field, after: previewed }) => ({
    reading,
    field,
    previewed,
    happened: valueIn(readings.get(reading), field),
  }));
  const happened = transfersIn(logs);
  const areKnown = happened !== undefined && transfers !== null;
  const sums = areKnown ? compareSums(sumsOf(transfers), sumsOf(happened)) : [];
  const differences = [...values, ...sums].filter(
    (one) => one.previewed !== one.happened,
  );
  return differences.length > 0 || areKnown ? differences : null;
}

type Sums = ReadonlyMap<string, bigint>;

/** Sums the transfers of each token between two accounts. */
function sumsOf(transfers: readonly Transfer[]): Sums {
  const sums = new Map<string, bigint>();
  for (const { token, from, to, amount } of transfers) {
    // A receipt does not record native transfers.
    if (token !== NATIVE) {
      const way = `${token} from ${from} to ${to}`;
      sums.set(way, (sums.get(way) ?? 0n) + amount);
    }
  }
  return sums;
}

function compareSums(previewed: Sums, happened: Sums): PreviewDifference[] {
  const ways = new Set([...previewed.keys(), ...happened.keys()]);
  return [...ways].map((field) => ({
    reading: "transfers",
    field,
    previewed: previewed.get(field) ?? 0n,
    happened: happened.get(field) ?? 0n,
  }));
}

// What a settlement did, beside its preview.

import type { VaultSnapshot } from "../client/read-at-block.js";
import type { Receipt } from "../rpc/transactions.js";
import { NATIVE, transfersIn } from "../simulation/tokens.js";
import type { Simulation, Transfer } from "../simulation/types.js";
import { readingsIn, valueIn } from "../simulation/watch-list.js";
import type { PreviewDifference } from "./options.js";

/**
 * Finds the previewed changes that did not come, and the token transfers that are not as
 * previewed. Effects of other transactions in the block count, too.
 *
 * @param after The readings in the block of the transaction.
 * @returns Null if the transaction reverted, or no change differs and the transfers are not
 * known.
 */
export function findDifferences(
  { changes, transfers }: Pick<Simulation, "changes" | "transfers">,
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
  const sums = areKnown ? compareTransfers(transfers, happened) : [];
  const differences = [...values, ...sums].filter(
    (one) => one.previewed !== one.happened,
  );
  return differences.length > 0 || areKnown ? differences : null;
}

/** Compares the sums of each token between two accounts. */
function compareTransfers(
  previewed: readonly Transfer[],
  happened: readonly Transfer[],
): readonly PreviewDifference[] {
  const sums = new Map<string, { previewed: bigint; happened: bigint }>();
  const sides = [
    ["previewed", previewed],
    ["happened", happened],
  ] as const;
  for (const [side, transfers] of sides) {
    for (const { token, from, to, amount } of transfers) {
      const field = `${token} from ${from} to ${to}`;
      const sum = sums.get(field) ?? { previewed: 0n, happened: 0n };
      // A receipt does not record native transfers.
      if (token !== NATIVE) {
        sums.set(field, { ...sum, [side]: sum[side] + amount });
      }
    }
  }
  return [...sums].map(([field, sum]) => ({
    reading: "transfers",
    field,
    ...sum,
  }));
}

import { toQuantity } from "ethers";

import { fallbackTo } from "../errors.js";
import { asRecord } from "../json.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { getTransactions } from "../rpc/transactions.js";

/** Blocks whose transactions are compared with. */
export const RECENT_BLOCKS = 20;

export interface RecentPrices {
  /** Median of what transactions paid for a unit of gas, in wei. */
  readonly median: bigint;
  /** True if most blocks have no priority fee, as on a rollup with little to do. */
  readonly isQuiet: boolean;
}

interface Paid {
  readonly price: bigint;
  /** False for a block that begins with a transaction of the chain's own, and has no other. */
  readonly hasTip: boolean;
}

/**
 * Finds the median of what transactions of the last blocks paid for a unit of gas: of
 * each block's median if the node has `eth_feeHistory`, else of the transactions. Blocks
 * without a priority fee count only if no block has one.
 *
 * @returns Undefined if there were none.
 */
export async function recentPrices(
  rpc: RpcClient,
  newest: number,
): Promise<RecentPrices | undefined> {
  const found =
    (await pricesOfHistory(rpc, newest)) ?? (await pricesOfBlocks(rpc, newest));
  // Rollups begin each block with a transaction of their own that pays nothing.
  const all = found.filter(({ price }) => price > 0n);
  const tipped = all.filter(({ hasTip }) => hasTip);
  const sorted = (tipped.length > 0 ? tipped : all)
    .map(({ price }) => price)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const median = sorted[Math.floor(sorted.length / 2)];
  return median === undefined
    ? undefined
    : { median, isQuiet: tipped.length * 2 <= all.length };
}

/** @returns Undefined if the node has no usable `eth_feeHistory`. */
async function pricesOfHistory(
  rpc: RpcClient,
  newest: number,
): Promise<readonly Paid[] | undefined> {
  const method = "eth_feeHistory";
  const params = [toQuantity(RECENT_BLOCKS), toQuantity(newest), [50]];
  const answer = await rpc
    .request(method, params)
    .catch(fallbackTo(undefined, isNodeRefusal));
  const { baseFeePerGas, gasUsedRatio, reward } = asRecord(answer);
  if (
    !Array.isArray(baseFeePerGas) ||
    !Array.isArray(gasUsedRatio) ||
    !Array.isArray(reward)
  ) {
    return undefined;
  }
  const read = rpc.parser(method);
  return gasUsedRatio.flatMap((used: unknown, index) => {
    const tips: unknown = reward[index];
    // A block without transactions has no price.
    if (typeof used !== "number" || used <= 0 || !Array.isArray(tips)) {
      return [];
    }
    const tip = read.quantity(tips[0]);
    const price = read.quantity(baseFeePerGas[index]) + tip;
    return [{ price, hasTip: tip > 0n }];
  });
}

async function pricesOfBlocks(
  rpc: RpcClient,
  newest: number,
): Promise<readonly Paid[]> {
  const count = Math.min(RECENT_BLOCKS, newest + 1);
  const blocks = await Promise.all(
    Array.from(
      { length: count },
      async (_, index) => await getTransactions(rpc, newest - index),
    ),
  );
  return blocks
    .flat()
    .flatMap(({ gasPrice: price }) =>
      price === undefined ? [] : { price, hasTip: true },
    );
}

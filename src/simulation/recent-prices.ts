import { toQuantity } from "ethers";

import { fallbackTo } from "../errors.js";
import { asRecord } from "../json.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";

/** Blocks whose transactions are compared with. */
export const RECENT_BLOCKS = 20;

/**
 * Finds the median of what transactions of the last blocks paid for a unit of gas, in
 * wei: of each block's median if the node has `eth_feeHistory`, else of the transactions.
 *
 * @returns Undefined if there were none.
 */
export async function medianPrice(
  rpc: RpcClient,
  newest: number,
): Promise<bigint | undefined> {
  const prices =
    (await pricesOfHistory(rpc, newest)) ?? (await pricesOfBlocks(rpc, newest));
  // Rollups begin each block with a transaction of their own that pays nothing.
  const paid = prices.filter((price) => price > 0n);
  const sorted = paid.toSorted((a, b) => (a < b ? -1 : 1));
  return sorted[Math.floor(sorted.length / 2)];
}

/** @returns Undefined if the node has no usable `eth_feeHistory`. */
async function pricesOfHistory(
  rpc: RpcClient,
  newest: number,
): Promise<readonly bigint[] | undefined> {
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
    return typeof used === "number" && used > 0 && Array.isArray(tips)
      ? read.quantity(baseFeePerGas[index]) + read.quantity(tips[0])
      : [];
  });
}

async function pricesOfBlocks(
  rpc: RpcClient,
  newest: number,
): Promise<readonly bigint[]> {
  const count = Math.min(RECENT_BLOCKS, newest + 1);
  const blocks = await Promise.all(
    Array.from(
      { length: count },
      async (_, index) => await rpc.transactionsOf(newest - index),
    ),
  );
  return blocks.flat().flatMap(({ gasPrice }) => gasPrice ?? []);
}

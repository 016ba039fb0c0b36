import { toQuantity } from "ethers";

import { fallbackTo, vaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import type { Block } from "../rpc/blocks.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { getTransactions } from "../rpc/transactions.js";
import type { FeeLimits, Fees, GasPrice } from "./fees.js";

/** Blocks whose transactions are compared with. */
const RECENT_BLOCKS = 20;

/** A price above this multiple of the recent ones is probably an error of the node. */
const UNUSUAL_TIMES = 20n;

/**
 * Priority fee in wei that is usual on a chain whose blocks mostly have none: there the
 * recent prices are hardly more than the base fee, which can be next to nothing.
 */
const USUAL_TIP = 1_000_000_000n;

/** What a price is compared with, before somebody signs without being asked. */
export interface PriceCheck {
  readonly limits: FeeLimits;
  /** Number of the newest block, and a base fee if the chain has one. */
  readonly newest: Pick<Block, "baseFeePerGas" | "number">;
  /** Default: they are read. */
  readonly recent?: Promise<RecentPrices | undefined> | undefined;
}

/**
 * Refuses a price far above what recent transactions paid, unless limits bound it. Every
 * signature that no person agreed to passes this: settlements, replacements, guards.
 *
 * @throws VaultError VAULT_FEE_UNUSUAL
 */
export async function requireUsualPrice(
  { rpc, networkName: network, connection }: VaultHost,
  { current, fees }: GasPrice,
  { limits, newest, recent }: PriceCheck,
): Promise<void> {
  const isBounded = areFeesBounded(limits, fees, newest);
  if (isBounded || connection.networkConfig.type !== "http") {
    return;
  }
  const found = await (recent ?? recentPrices(rpc, newest.number));
  if (found === undefined) {
    return;
  }
  const { median, isQuiet } = found;
  const tip = "gasPrice" in fees ? fees.gasPrice : fees.maxPriorityFeePerGas;
  const isUsual =
    current <= UNUSUAL_TIMES * median || (isQuiet && tip <= USUAL_TIP);
  if (!isUsual && !(await isDevelopmentNode(rpc))) {
    throw vaultError("VAULT_FEE_UNUSUAL", {
      ...{ network, median, price: current, times: UNUSUAL_TIMES },
      blocks: RECENT_BLOCKS,
      setting: `networks.${network}.vault.maxFeePerGasLimit`,
    });
  }
}

/** True if the limits bound the price for any suggestion of the node. */
function areFeesBounded(
  { maxFeePerGas, maxPriorityFeePerGas }: FeeLimits,
  fees: Fees,
  { baseFeePerGas }: Pick<Block, "baseFeePerGas">,
): boolean {
  return (
    maxFeePerGas !== undefined ||
    // The chain sets the base fee, so a limit of the tip is enough.
    (maxPriorityFeePerGas !== undefined &&
      !("gasPrice" in fees) &&
      baseFeePerGas !== undefined)
  );
}

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

import { max, min } from "@nomicfoundation/hardhat-utils/bigint";
import { toQuantity } from "ethers";
import type { NetworkConfig } from "hardhat/types/config";

import { fallbackTo, vaultError } from "../errors.js";
import type { GivenValue } from "../errors.js";
import { formatGasPrice } from "../protocol/amounts.js";
import type { VaultHost } from "../host.js";
import { toBlockId } from "../rpc/block-id.js";
import type { BlockId } from "../rpc/block-id.js";
import type { Block } from "../rpc/blocks.js";
import type { CallRequest } from "../rpc/calls.js";
import {
  getGasPrice,
  getPriorityFee,
  TRANSACTION_GAS_CAP,
} from "../rpc/chain.js";
import { isDevelopmentNode } from "../rpc/development-node.js";
import type { Reverted, RpcClient } from "../rpc/rpc-client.js";

/** Gas prices that a transaction offers, in wei. */
export type Fees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** Price of a unit of gas, in wei. */
export interface GasPrice {
  readonly fees: Fees;
  /** At the current base fee. */
  readonly current: bigint;
  readonly highest: bigint;
}

/** Most that a settlement may offer, in wei per gas, and the setting of each limit. */
export interface FeeLimits {
  /** On legacy chains the limit of the gas price. */
  readonly maxFeePerGas?: FeeLimit | undefined;
  readonly maxPriorityFeePerGas?: FeeLimit | undefined;
}

interface FeeLimit {
  readonly wei: bigint;
  readonly setting: string;
}

/** Tip in wei if the node suggests none, as in ethers' `getFeeData`. */
const USUAL_TIP = 1_000_000_000n;
/** A limit that leaves room for dearer days, and none for an absurd price. */
const LIMIT_TIMES = 10n;

/**
 * Returns the configured gas price, else the fees of ethers' `getFeeData`: twice the
 * base fee plus the tip that the node suggests.
 *
 * @param next The tip is asked for while this block is read.
 */
export async function resolveFees(
  rpc: RpcClient,
  config: Pick<NetworkConfig, "gasPrice">,
  next: Pick<Block, "baseFeePerGas"> | Promise<Pick<Block, "baseFeePerGas">>,
): Promise<GasPrice> {
  if (config.gasPrice !== "auto") {
    return priceOf({ gasPrice: config.gasPrice });
  }
  const [{ baseFeePerGas }, maxPriorityFeePerGas] = await Promise.all([
    next,
    getPriorityFee(rpc).catch(
      fallbackTo(USUAL_TIP, ({ code }) => code === "VAULT_RPC_ERROR"),
    ),
  ]);
  if (baseFeePerGas === undefined) {
    return priceOf({ gasPrice: await getGasPrice(rpc) });
  }
  const maxFeePerGas = 2n * baseFeePerGas + maxPriorityFeePerGas;
  return priceOf({ maxFeePerGas, maxPriorityFeePerGas }, baseFeePerGas);
}

export function priceOf(fees: Fees, baseFeePerGas = 0n): GasPrice {
  if ("gasPrice" in fees) {
    return { fees, current: fees.gasPrice, highest: fees.gasPrice };
  }
  const { maxFeePerGas: highest, maxPriorityFeePerGas: tip } = fees;
  return { fees, current: min(highest, baseFeePerGas + tip), highest };
}

/**
 * Lowers the highest price to the limit: twice the base fee is a reserve for the blocks
 * until the transaction is mined.
 *
 * @throws VaultError VAULT_FEE_ABOVE_LIMIT if the current price, or the tip, is above it
 */
export function limitFees(
  network: string,
  price: GasPrice,
  { maxFeePerGas: limit, maxPriorityFeePerGas: tipLimit }: FeeLimits,
): GasPrice {
  const { fees, current } = price;
  if ("maxPriorityFeePerGas" in fees) {
    const { maxPriorityFeePerGas } = fees;
    refuseAbove(network, "a priority fee", maxPriorityFeePerGas, tipLimit);
  }
  refuseAbove(network, "a price", current, limit);
  return limit === undefined ? price : offerAtMost(price, limit.wei);
}

/** @throws VaultError VAULT_FEE_ABOVE_LIMIT */
export function refuseAbove(
  network: string,
  what: string,
  price: bigint,
  limit: FeeLimit | undefined,
): void {
  if (limit !== undefined && price > limit.wei) {
    throw vaultError("VAULT_FEE_ABOVE_LIMIT", {
      network,
      what,
      price: givenPrice(price),
      limit: givenPrice(limit.wei),
      setting: limit.setting,
    });
  }
}

function givenPrice(wei: bigint): GivenValue {
  return { shown: formatGasPrice(wei), value: String(wei) };
}

/**
 * Refuses to sign on a live chain what no person agreed to, unless a limit bounds the fee:
 * a node may ask for any price. Settlements, replacements and guards pass this.
 *
 * @throws VaultError VAULT_FEE_LIMIT_NEEDED with the line to write
 */
export async function requireFeeLimit(
  { rpc, networkName: network, connection }: VaultHost,
  { current }: GasPrice,
  { maxFeePerGas }: FeeLimits,
): Promise<void> {
  const isBounded =
    maxFeePerGas !== undefined ||
    connection.networkConfig.type !== "http" ||
    (await isDevelopmentNode(rpc));
  if (!isBounded) {
    const limit = max(current, 1n) * LIMIT_TIMES;
    const details = { network, price: givenPrice(current), limit };
    throw vaultError("VAULT_FEE_LIMIT_NEEDED", details);
  }
}

/** Lowers the highest price; never below the current one. */
export function offerAtMost(price: GasPrice, most: bigint): GasPrice {
  const { fees, current } = price;
  if ("gasPrice" in fees || most >= price.highest) {
    return price;
  }
  const highest = max(most, current);
  return { fees: { ...fees, maxFeePerGas: highest }, current, highest };
}

export interface Gas {
  readonly gas: bigint;
}

export interface SimulatedGas {
  readonly used: bigint;
  /** Gas used before refunds, or an upper bound of it. */
  readonly needed: bigint;
}

/**
 * Returns the gas limit, or the revert of an estimate. A configured limit or multiplier
 * applies as in Hardhat. Otherwise a quarter is added to the simulated or estimated gas:
 * the round may grow until then, and a contract may go on after its calls run out of gas.
 *
 * @param call With the price that it will be sent at: a contract may do something else if
 * somebody pays for gas.
 */
export async function resolveGas(
  rpc: RpcClient,
  { gas, gasMultiplier }: Pick<NetworkConfig, "gas" | "gasMultiplier">,
  call: CallRequest & { readonly gasPrice?: bigint | undefined },
  { gasLimit: blockGasLimit }: Pick<Block, "gasLimit">,
  simulated?: SimulatedGas,
): Promise<Gas | Reverted> {
  if (gas !== "auto") {
    return { gas };
  }
  if (simulated !== undefined && gasMultiplier === 1) {
    return { gas: withMargin(simulated, blockGasLimit) };
  }
  const { gasPrice, ...free } = call;
  const priced =
    gasPrice === undefined
      ? undefined
      : await estimateGas(rpc, { ...free, gasPrice: toQuantity(gasPrice) })
          // The account may be too poor to pay.
          .catch(
            fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"),
          );
  const estimate = priced ?? (await estimateGas(rpc, free));
  if ("reverted" in estimate) {
    return estimate;
  }
  if (gasMultiplier === 1) {
    const expected = { used: estimate.gas, needed: estimate.gas };
    return { gas: withMargin(expected, blockGasLimit) };
  }
  const needed = max(estimate.gas, simulated?.needed ?? 0n);
  const multiplied = BigInt(Math.floor(Number(needed) * gasMultiplier));
  const limit = mostOf(blockGasLimit);
  return { gas: multiplied > limit ? limit - 1n : multiplied };
}

/** Adds a quarter to the gas that a settlement needs, as far as the chain allows. */
export function withMargin(
  { used, needed }: SimulatedGas,
  blockGasLimit: bigint,
): bigint {
  const limit = mostOf(blockGasLimit);
  // The chain may cap the gas of a transaction: stay below the cap if the gas used fits.
  const highest =
    used <= TRANSACTION_GAS_CAP
      ? min(blockGasLimit, TRANSACTION_GAS_CAP)
      : blockGasLimit;
  const wanted = (needed * 5n) / 4n;
  return min(highest, wanted > limit ? max(needed, limit) : wanted);
}

/** The gas limit of later blocks may be lower. */
function mostOf(blockGasLimit: bigint): bigint {
  return (blockGasLimit * 95n) / 100n;
}

/** @param block State to estimate on. Default: the node's choice. */
export async function estimateGas(
  rpc: RpcClient,
  call: Partial<CallRequest> & { readonly gasPrice?: string },
  block?: BlockId,
): Promise<Gas | Reverted> {
  const method = "eth_estimateGas";
  const answer = await rpc.requestOrRevert(method, [
    call,
    ...(block === undefined ? [] : [toBlockId(block)]),
  ]);
  return "reverted" in answer
    ? answer
    : { gas: rpc.parser(method).quantity(answer.result) };
}

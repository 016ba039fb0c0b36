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

export interface FeeLimit {
  readonly wei: bigint;
  readonly setting: string;
}

/** Tip in wei if the node suggests none, as in ethers' `getFeeData`. */
const USUAL_TIP = 1_000_000_000n;

/**
 * Returns the configured gas price, else the fees of ethers' `getFeeData`: twice the
 * base fee plus the tip that the node suggests.
 *
 * @param next The tip is asked for while this block is read.
 */
export async function resolveFees(
  rpc: RpcClient,
  config: Pick<NetworkConfig, "gasPrice">,
  next: BlockWithFee | Promise<BlockWithFee>,
): Promise<GasPrice> {
  if (config.gasPrice !== "auto") {
    return legacyPrice(config.gasPrice);
  }
  const [{ baseFeePerGas }, maxPriorityFeePerGas] = await Promise.all([
    next,
    getPriorityFee(rpc).catch(
      fallbackTo(USUAL_TIP, ({ code }) => code === "VAULT_RPC_ERROR"),
    ),
  ]);
  if (baseFeePerGas === undefined) {
    return legacyPrice(await getGasPrice(rpc));
  }
  return withFees({
    maxPriorityFeePerGas,
    current: baseFeePerGas + maxPriorityFeePerGas,
    maxFeePerGas: 2n * baseFeePerGas + maxPriorityFeePerGas,
  });
}

type BlockWithFee = Pick<Block, "baseFeePerGas">;

function legacyPrice(gasPrice: bigint): GasPrice {
  return { fees: { gasPrice }, current: gasPrice, highest: gasPrice };
}

function withFees({
  current,
  ...fees
}: {
  readonly current: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}): GasPrice {
  return { fees, current, highest: fees.maxFeePerGas };
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
  const refuseAbove = (
    what: string,
    wei: bigint,
    { wei: most, setting }: FeeLimit,
  ): void => {
    if (wei > most) {
      throw vaultError("VAULT_FEE_ABOVE_LIMIT", {
        network,
        what,
        setting,
        price: givenPrice(wei),
        limit: givenPrice(most),
      });
    }
  };
  if (tipLimit !== undefined && "maxPriorityFeePerGas" in fees) {
    refuseAbove("a priority fee", fees.maxPriorityFeePerGas, tipLimit);
  }
  if (limit === undefined) {
    return price;
  }
  refuseAbove("a price", current, limit);
  return offerAtMost(price, limit.wei);
}

function givenPrice(wei: bigint): GivenValue {
  return { shown: formatGasPrice(wei), value: String(wei) };
}

/** A limit that leaves room for dearer days, and none for an absurd price. */
const LIMIT_TIMES = 10n;

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
  const { fees, current, highest } = price;
  return "gasPrice" in fees || most >= highest
    ? price
    : withFees({ ...fees, current, maxFeePerGas: max(most, current) });
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
 */
export async function resolveGas(
  rpc: RpcClient,
  { gas, gasMultiplier }: Pick<NetworkConfig, "gas" | "gasMultiplier">,
  call: CallRequest,
  { gasLimit: blockGasLimit }: Pick<Block, "gasLimit">,
  simulated?: SimulatedGas,
  gasPrice?: bigint,
): Promise<Gas | Reverted> {
  if (gas !== "auto") {
    return { gas };
  }
  // The gas limit of later blocks may be lower.
  const limit = (blockGasLimit * 95n) / 100n;
  let expected = simulated;
  if (expected === undefined || gasMultiplier !== 1) {
    const estimate = await estimateAtPrice(rpc, call, gasPrice);
    if ("reverted" in estimate) {
      return estimate;
    }
    if (gasMultiplier !== 1) {
      const needed = max(estimate.gas, simulated?.needed ?? 0n);
      const multiplied = BigInt(Math.floor(Number(needed) * gasMultiplier));
      return { gas: multiplied > limit ? limit - 1n : multiplied };
    }
    expected = { used: estimate.gas, needed: estimate.gas };
  }
  return { gas: withMargin(expected, blockGasLimit) };
}

/** A contract may do something else if somebody pays for gas; a poor account may not pay. */
async function estimateAtPrice(
  rpc: RpcClient,
  call: CallRequest,
  gasPrice: bigint | undefined,
): Promise<Gas | Reverted> {
  const priced =
    gasPrice === undefined
      ? undefined
      : await estimateGas(rpc, {
          ...call,
          gasPrice: toQuantity(gasPrice),
        }).catch(
          fallbackTo(undefined, ({ code }) => code === "VAULT_RPC_ERROR"),
        );
  return priced ?? (await estimateGas(rpc, call));
}

/** Adds a quarter to the gas that a settlement needs, as far as the chain allows. */
export function withMargin(
  { used, needed }: SimulatedGas,
  blockGasLimit: bigint,
): bigint {
  const limit = (blockGasLimit * 95n) / 100n;
  // The chain may cap the gas of a transaction: stay below the cap if the gas used fits.
  const highest =
    used <= TRANSACTION_GAS_CAP
      ? min(blockGasLimit, TRANSACTION_GAS_CAP)
      : blockGasLimit;
  const wanted = (needed * 5n) / 4n;
  const most = wanted > limit ? max(needed, limit) : wanted;
  return min(highest, most);
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

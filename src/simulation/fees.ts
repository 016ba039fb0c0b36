import { max, min } from "@nomicfoundation/hardhat-utils/bigint";
import type { NetworkConfig } from "hardhat/types/config";

import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import { toBlockId } from "../rpc/rpc-client.js";
import type {
  Block,
  BlockId,
  CallRequest,
  Reverted,
  RpcClient,
} from "../rpc/rpc-client.js";

/** The prices that a transaction offers for gas, in wei. */
export type Fees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** Fees, and the price of a unit of gas by them, in wei. */
export interface GasPrice {
  readonly fees: Fees;
  /** At the current base fee. */
  readonly current: bigint;
  readonly highest: bigint;
}

/** A tip of ethers' `getFeeData` for a node that suggests none, in wei. */
const USUAL_TIP = 1_000_000_000n;

/**
 * The configured gas price, else the fees that `getFeeData` of ethers would
 * give: twice the base fee and the tip that the node suggests.
 */
export async function resolveFees(
  rpc: RpcClient,
  config: Pick<NetworkConfig, "gasPrice">,
  { baseFeePerGas }: Pick<Block, "baseFeePerGas">,
): Promise<GasPrice> {
  if (config.gasPrice !== "auto" || baseFeePerGas === undefined) {
    const gasPrice =
      config.gasPrice === "auto"
        ? await rpc.price("eth_gasPrice")
        : config.gasPrice;
    return { fees: { gasPrice }, current: gasPrice, highest: gasPrice };
  }
  const maxPriorityFeePerGas = await rpc
    .price("eth_maxPriorityFeePerGas")
    .catch(fallbackTo(USUAL_TIP, isNodeRefusal));
  const maxFeePerGas = 2n * baseFeePerGas + maxPriorityFeePerGas;
  return {
    fees: { maxFeePerGas, maxPriorityFeePerGas },
    current: baseFeePerGas + maxPriorityFeePerGas,
    highest: maxFeePerGas,
  };
}

/**
 * The gas limit, or the revert that an estimate runs into. A configured limit or
 * multiplier is applied as Hardhat does; else it is the gas that a simulation
 * needed, or the node's estimate, and a quarter more: the round may have grown by
 * then, and a contract may go on when its own calls run out.
 *
 * @param simulated Undefined without a simulation.
 */
export async function resolveGas(
  rpc: RpcClient,
  { gas, gasMultiplier }: Pick<NetworkConfig, "gas" | "gasMultiplier">,
  call: CallRequest,
  { gasLimit: blockGasLimit }: Pick<Block, "gasLimit">,
  simulated?: SimulatedGas,
): Promise<bigint | Reverted> {
  if (gas !== "auto") {
    return gas;
  }
  // Below the block's, which changes from block to block.
  const limit = (blockGasLimit * 95n) / 100n;
  let ample = simulated;
  if (ample === undefined || gasMultiplier !== 1) {
    const estimate = await estimateGas(rpc, call);
    if (typeof estimate === "object") {
      return estimate;
    }
    if (gasMultiplier !== 1) {
      const multiplied = BigInt(Math.floor(Number(estimate) * gasMultiplier));
      return multiplied > limit ? limit - 1n : multiplied;
    }
    ample = { used: estimate, needed: estimate };
  }
  const { used, needed } = ample;
  // Whether the chain has the rule is not known; what fits in keeps it.
  const rules =
    used <= TRANSACTION_GAS_CAP
      ? min(blockGasLimit, TRANSACTION_GAS_CAP)
      : blockGasLimit;
  const generous = (needed * 5n) / 4n;
  return min(rules, generous > limit ? max(needed, limit) : generous);
}

export interface SimulatedGas {
  readonly used: bigint;
  /** The same before refunds, or as much as that may have been. */
  readonly needed: bigint;
}

/** @param block After which the call is made; else the node's choice. */
export async function estimateGas(
  rpc: RpcClient,
  call: CallRequest,
  block?: BlockId,
): Promise<bigint | Reverted> {
  const method = "eth_estimateGas";
  const answer = await rpc.requestOrRevert(method, [
    call,
    ...(block === undefined ? [] : [toBlockId(block)]),
  ]);
  return "reverted" in answer
    ? answer
    : rpc.parser(method).quantity(answer.result);
}

/** The price that a settlement would pay for gas now; undefined if not known. */
export async function findPrice(
  { rpc, connection }: VaultHost,
  block: Pick<Block, "baseFeePerGas">,
): Promise<bigint | undefined> {
  const price = await resolveFees(rpc, connection.networkConfig, block).catch(
    fallbackTo(undefined, ({ kind }) => kind === "rpc"),
  );
  return price?.current;
}
